//! What of CUDA is installed: the backend looks for driver, compiler and headers when it runs, and panics without them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the loader looks after `LD_LIBRARY_PATH` and its cache.
const USUAL_FOLDERS: [&str; 7] = [
    "/lib",
    "/usr/lib",
    "/lib64",
    "/usr/lib64",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
];

/// Where a system keeps libraries and headers.
#[derive(Debug)]
pub(super) struct Installation {
    /// Folders in which the loader looks for libraries.
    folders: Vec<PathBuf>,
    /// The loader's cache, a library a line.
    cache: String,
    /// The folder of the toolkit, as the backend finds it.
    toolkit: Option<PathBuf>,
}

impl Installation {
    /// This system's.
    pub(super) fn find() -> Self {
        let named = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let folders = env::split_paths(&named).chain(USUAL_FOLDERS.map(PathBuf::from)).collect();
        let caches = ["ldconfig", "/sbin/ldconfig"].iter().map(|program| Command::new(program).arg("-p").output());
        let cache = caches.flatten().next().map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        Self { folders, cache: cache.unwrap_or_default(), toolkit: toolkit() }
    }

    /// What is missing, in words.
    pub(super) fn missing(&self) -> Vec<&'static str> {
        let needed = [
            (self.has_library("libcuda.so"), "the driver (libcuda.so)"),
            (self.has_library("libnvrtc.so"), "the compiler (libnvrtc.so)"),
            (self.has_header("cuda_runtime.h"), "its headers (cuda_runtime.h in the folder include of CUDA_PATH)"),
        ];
        needed.into_iter().filter(|(is_there, _)| !is_there).map(|(_, what)| what).collect()
    }

    /// Whether devices can speak to each other.
    pub(super) fn has_nccl(&self) -> bool {
        self.has_library("libnccl.so")
    }

    /// Whether the loader finds a library, of any version.
    fn has_library(&self, name: &str) -> bool {
        let is_it = |file: &str| file.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        let holds_it = |folder: &PathBuf| {
            let files = fs::read_dir(folder).into_iter().flatten().flatten();
            files.map(|file| file.file_name()).any(|file| file.to_str().is_some_and(is_it))
        };
        let mut cached = self.cache.lines().filter_map(|line| line.split_whitespace().next());
        cached.any(is_it) || self.folders.iter().any(holds_it)
    }

    fn has_header(&self, name: &str) -> bool {
        self.toolkit.as_ref().is_some_and(|toolkit| toolkit.join("include").join(name).exists())
    }
}

/// The toolkit, by the rules of cubecl-cuda 0.10, to whose compiler it gives the headers.
fn toolkit() -> Option<PathBuf> {
    let usual = || ["/usr/local/cuda", "/opt/cuda"].map(PathBuf::from).into_iter().find(|path| path.exists());
    let of_the_system = || Path::new("/usr/bin/nvcc").exists().then(|| PathBuf::from("/usr"));
    env::var_os("CUDA_PATH").map(PathBuf::from).or_else(usual).or_else(of_the_system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_and_what_is_there_is_found() {
        let dir = tempfile::tempdir().expect("a folder");
        let with = |folder: &str, cache: &str| Installation {
            folders: vec![dir.path().join(folder)],
            cache: cache.into(),
            toolkit: Some(dir.path().join("toolkit")),
        };
        assert_eq!(with("lib", "").missing().len(), 3);
        let cache = "2 libs found\n\tlibcuda.so.1 (libc6,x86-64) => /lib/libcuda.so.1\n\tlibnvrtc-builtins.so.13";
        assert!(with("lib", cache).missing()[0].contains("libnvrtc.so"));
        for file in ["lib/libnvrtc.so.13", "toolkit/include/cuda_runtime.h"] {
            fs::create_dir_all(dir.path().join(file).parent().expect("a folder")).expect("made");
            fs::write(dir.path().join(file), "").expect("written");
        }
        assert!(with("lib", cache).missing().is_empty() && !with("lib", cache).has_nccl());
        assert!(with("lib", "\tlibnccl.so.2 (libc6,x86-64) => /lib/libnccl.so.2").has_nccl());
        assert_eq!(with("elsewhere", cache).missing().len(), 1);
    }

    #[test]
    fn looking_at_this_system_does_no_harm() {
        assert!(Installation::find().missing().len() <= 3);
    }
}
