//! Runs the program as a user does.

use std::ffi::OsStr;
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;

use crate::model::m0;

/// What a run left behind.
#[derive(Debug, PartialEq)]
pub(crate) struct Run {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

impl Run {
    /// The output of a run that must go well.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self.stdout
    }
}

/// The program, without a model.
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_translate"));
    command.env_remove("RUST_BACKTRACE").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The program with M0.
pub(crate) fn with_m0() -> Command {
    let mut command = program();
    command.arg("--model").arg(m0());
    command
}

/// Runs a command with `input` on its standard input.
pub(crate) fn run(command: &mut Command, input: &[u8]) -> Run {
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = thread::scope(|scope| {
        // A program that refuses to run does not read.
        scope.spawn(move || stdin.write_all(input).ok());
        child.wait_with_output().unwrap()
    });
    Run {
        stdout: String::from_utf8(output.stdout).expect("standard output is UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("standard error is UTF-8"),
        code: output.status.code(),
    }
}

/// Translates with M0.
pub(crate) fn translate<A: AsRef<OsStr>>(args: impl IntoIterator<Item = A>, input: &[u8]) -> Run {
    run(with_m0().args(args), input)
}

/// Translates with M0 and no further word.
pub(crate) fn plain(input: &[u8]) -> Run {
    translate([] as [&str; 0], input)
}

/// Lines of mixed length, from one word to sixty, in no order.
pub(crate) fn mixed_lines(count: usize) -> String {
    const WORDS: [&str; 8] = ["the", "cat", "sits", "on", "a", "mat.", "Dogs", "run"];
    let line = |line: usize| {
        let words = 1 + (line * 7919) % 60 / (1 + line % 7);
        let words: Vec<&str> = (0..words).map(|word| WORDS[(word * 3 + line * 5 + word * line) % 8]).collect();
        format!("{} {line}\n", words.join(" "))
    };
    (0..count).map(line).collect()
}
