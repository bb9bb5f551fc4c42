//! The checkout a task works on: its root, its files, its packages and the `cargo` that builds it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

/// A checkout of the project.
pub(crate) struct Workspace {
    root: PathBuf,
}

/// What `cargo metadata` says, as far as tasks read it.
#[derive(Deserialize)]
pub(crate) struct Metadata {
    /// The packages of the workspace.
    pub(crate) packages: Vec<Package>,
    /// Where cargo builds.
    pub(crate) target_directory: PathBuf,
}

/// A package of the workspace.
#[derive(Deserialize)]
pub(crate) struct Package {
    /// Its name.
    pub(crate) name: String,
    /// Its `Cargo.toml`.
    pub(crate) manifest_path: PathBuf,
    /// What it asks for by name.
    pub(crate) dependencies: Vec<Dependency>,
}

/// A dependency as declared.
#[derive(Deserialize)]
pub(crate) struct Dependency {
    /// The package depended on.
    pub(crate) name: String,
    /// `None` for an ordinary dependency, else `dev` or `build`.
    pub(crate) kind: Option<String>,
    /// Whether it comes only with a feature.
    pub(crate) optional: bool,
}

impl Workspace {
    /// The workspace that `cargo xtask` was called in.
    ///
    /// # Errors
    /// When not run by cargo.
    pub(crate) fn find() -> Result<Self> {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR").context("not run by cargo; call it as `cargo xtask`")?;
        let root = Path::new(&manifest).ancestors().nth(2).context("xtask does not lie in crates/xtask")?;
        Ok(Self { root: root.to_owned() })
    }

    /// The checkout at `root`.
    #[cfg(test)]
    pub(crate) fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The folder of the workspace's `Cargo.toml`.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// `cargo` with these arguments, in the root.
    pub(crate) fn cargo<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(arguments).current_dir(&self.root);
        command
    }

    /// The packages of the workspace and where cargo builds them.
    ///
    /// # Errors
    /// When cargo cannot read a manifest.
    pub(crate) fn metadata(&self) -> Result<Metadata> {
        let output = self.cargo(&["metadata", "--no-deps", "--format-version=1"]).output().context("cargo metadata")?;
        ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim());
        serde_json::from_slice(&output.stdout).context("cargo metadata")
    }

    /// Builds both programs in release mode and returns the folder they lie in.
    ///
    /// # Errors
    /// When the build fails.
    pub(crate) fn build_release(&self, selection: &[&str]) -> Result<PathBuf> {
        let mut arguments = vec!["build", "--release"];
        arguments.extend(selection);
        let status = self.cargo(&arguments).status().context("cargo build")?;
        ensure!(status.success(), "`cargo {}` failed", arguments.join(" "));
        Ok(self.metadata()?.target_directory.join("release"))
    }

    /// The project's files, relative to the root and sorted: those git tracks or would track. Where git cannot say (no
    /// git, an unpacked archive, a checkout of another user), all but hidden folders and build output.
    ///
    /// # Errors
    /// When the root cannot be read.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>> {
        let mut files = self.files_of_git().or_else(|_| self.files_of_tree())?;
        files.retain(|file| self.root.join(file).is_file());
        files.sort();
        files.dedup();
        Ok(files)
    }

    fn files_of_git(&self) -> Result<Vec<PathBuf>> {
        let output = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(&self.root)
            .output()
            .context("git ls-files")?;
        if !output.status.success() {
            bail!("git ls-files: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        let list = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
        Ok(list.split_terminator('\0').map(PathBuf::from).collect())
    }

    fn files_of_tree(&self) -> Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        let mut folders = vec![PathBuf::new()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(self.root.join(&folder))? {
                let entry = entry?;
                let path = folder.join(entry.file_name());
                match entry.file_type()?.is_dir() {
                    true if is_skipped(&path) => {}
                    true => folders.push(path),
                    false => files.push(path),
                }
            }
        }
        Ok(files)
    }
}

fn is_skipped(folder: &Path) -> bool {
    let is_hidden = folder.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    is_hidden && folder != Path::new(".ci") && folder != Path::new(".cargo")
        || [Path::new("target"), Path::new("runs")].contains(&folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_git_the_files_are_the_tree_less_build_output() {
        let folder = tempfile::tempdir().unwrap();
        for file in ["README.md", ".ci/run", "crates/a/src/lib.rs", "target/debug/a", ".venv/bin/python", "runs/x/log"]
        {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let mut files = Workspace::at(folder.path()).files_of_tree().unwrap();
        files.sort();
        let expected: Vec<PathBuf> = [".ci/run", "README.md", "crates/a/src/lib.rs"].map(PathBuf::from).into();
        assert_eq!(files, expected);
    }

    #[test]
    fn this_workspace_is_found_and_holds_this_crate() {
        let workspace = Workspace::find().unwrap();
        let metadata = workspace.metadata().unwrap();
        assert!(metadata.packages.iter().any(|package| package.name == "xtask"));
    }
}
