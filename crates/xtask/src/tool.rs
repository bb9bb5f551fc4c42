//! The programs a build needs beside Rust: CMake, make and a C++ compiler, with which SentencePiece is compiled.
//!
//! Where a package manager may be used without a password, what is missing is installed; elsewhere one line says how.

use std::process::{Command, Stdio};

use anyhow::{Result, bail, ensure};

/// A program the build calls.
struct Tool {
    name: &'static str,
    /// Any of these will do.
    programs: &'static [&'static str],
    /// The environment variable that names another program to use instead.
    variable: Option<&'static str>,
    /// The package holding it, for each of [`MANAGERS`].
    packages: [&'static str; MANAGERS.len()],
}

/// A package manager.
struct Manager {
    program: &'static str,
    /// Arguments that bring its list of packages up to date, if it does not do so by itself.
    refresh: &'static [&'static str],
    install: &'static [&'static str],
    /// Who may call it.
    caller: Caller,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Caller {
    Root,
    Anyone,
}

const MANAGERS: [Manager; 4] = [
    Manager { program: "apt-get", refresh: &["update"], install: &["install", "-y"], caller: Caller::Root },
    Manager { program: "dnf", refresh: &[], install: &["install", "-y"], caller: Caller::Root },
    Manager { program: "apk", refresh: &["update"], install: &["add"], caller: Caller::Root },
    Manager { program: "brew", refresh: &[], install: &["install"], caller: Caller::Anyone },
];

const TOOLS: [Tool; 3] = [
    Tool { name: "CMake", programs: &["cmake"], variable: Some("CMAKE"), packages: ["cmake"; 4] },
    Tool { name: "make", programs: &["make", "gmake", "ninja"], variable: None, packages: ["make"; 4] },
    Tool {
        name: "a C++ compiler",
        programs: &["c++", "g++", "clang++"],
        variable: Some("CXX"),
        packages: ["g++", "gcc-c++", "g++", "gcc"],
    },
];

/// Sees to it that the build's tools are there.
///
/// # Errors
/// One line for the first tool that is missing and cannot be installed, saying how to get it.
pub(crate) fn ensure_build_tools() -> Result<()> {
    // On Windows make and compiler come with Visual Studio, off the path, and CMake finds them.
    let needed = if cfg!(windows) { &TOOLS[..1] } else { &TOOLS[..] };
    needed.iter().filter(|tool| !is_present(tool)).try_for_each(provide)
}

/// Sees to it that rustfmt and clippy are there.
///
/// # Errors
/// One line naming the component to add.
pub(crate) fn ensure_components() -> Result<()> {
    for (program, component) in [("cargo-fmt", "rustfmt"), ("cargo-clippy", "clippy")] {
        ensure!(answers(program), "{component} is missing: rustup component add {component}");
    }
    Ok(())
}

fn is_present(tool: &Tool) -> bool {
    let named = tool.variable.and_then(|variable| std::env::var(variable).ok());
    named.is_some_and(|program| answers(&program)) || tool.programs.iter().any(|program| answers(program))
}

fn answers(program: &str) -> bool {
    succeeds(Command::new(program).arg("--version"))
}

fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn provide(tool: &Tool) -> Result<()> {
    let Some((manager, package)) = MANAGERS.iter().zip(tool.packages).find(|(manager, _)| answers(manager.program))
    else {
        bail!("{} is missing: install it and call this again", tool.name);
    };
    let Some(prefix) = prefix(manager) else {
        let command = command_line(&["sudo"], manager, manager.install, &[package]).join(" ");
        bail!("{} is missing: {command}", tool.name);
    };
    eprintln!("xtask: installing {} with {}", tool.name, manager.program);
    if !manager.refresh.is_empty() {
        // A stale list may still hold the package: whether it does, the installation tells.
        run_quietly(&command_line(prefix, manager, manager.refresh, &[]));
    }
    run_quietly(&command_line(prefix, manager, manager.install, &[package]));
    ensure!(is_present(tool), "{} is missing and {} could not install it", tool.name, manager.program);
    Ok(())
}

/// What to put before a call of `manager`, or `None` when this user may not call it.
fn prefix(manager: &Manager) -> Option<&'static [&'static str]> {
    if manager.caller == Caller::Anyone || is_root() {
        return Some(&[]);
    }
    succeeds(Command::new("sudo").args(["-n", "true"])).then_some(&["sudo", "-n"])
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn command_line<'a>(prefix: &[&'a str], manager: &Manager, verb: &[&'a str], packages: &[&'a str]) -> Vec<&'a str> {
    [prefix, &[manager.program], verb, packages].concat()
}

fn run_quietly(line: &[&str]) {
    let [program, arguments @ ..] = line else { return };
    succeeds(Command::new(program).args(arguments).env("DEBIAN_FRONTEND", "noninteractive"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_prefix_manager_verb_packages() {
        let line = command_line(&["sudo", "-n"], &MANAGERS[0], MANAGERS[0].install, &["cmake"]);
        assert_eq!(line, ["sudo", "-n", "apt-get", "install", "-y", "cmake"]);
    }

    #[test]
    fn what_is_not_on_the_path_does_not_answer() {
        assert!(!answers("no-program-of-this-name"));
        assert!(answers("cargo"));
    }

    #[test]
    fn a_manager_for_anyone_needs_no_prefix() {
        assert_eq!(prefix(&MANAGERS[3]), Some(&[][..]));
    }
}
