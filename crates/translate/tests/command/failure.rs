//! What the program refuses, and in which words.

use std::fs;
use std::process::Command;

use crate::model::{config, copy_of_m0};
use crate::program::{program, run, translate, with_m0};

/// The one line on standard error of a run that could not begin.
#[track_caller]
fn refusal(command: &mut Command) -> String {
    let run = run(command, b"A dog.\n");
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{}", run.stderr);
    assert_eq!(run.stderr.matches('\n').count(), 1, "{}", run.stderr);
    run.stderr
}

#[test]
fn a_missing_model_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let message = refusal(program().current_dir(&folder).args(["--model", "nowhere"]));
    assert!(message.starts_with("translate: nowhere"), "{message}");
}

#[test]
fn a_missing_input_is_named_before_work_begins() {
    let message = refusal(with_m0().args(["-", "missing.en"]));
    assert!(message.contains("missing.en"), "{message}");
}

#[test]
fn a_vocabulary_of_another_size_is_named_with_both_sizes() {
    let folder = tempfile::tempdir().unwrap();
    copy_of_m0(folder.path());
    fs::write(folder.path().join("config.json"), config(400)).unwrap();
    let message = refusal(program().arg("--model").arg(folder.path()));
    assert!(message.contains("400") && message.contains("300"), "{message}");
}

#[test]
fn a_truncated_model_is_an_error_and_no_panic() {
    for file in ["model.safetensors", "vocab.model", "config.json"] {
        let folder = tempfile::tempdir().unwrap();
        copy_of_m0(folder.path());
        let path = folder.path().join(file);
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        let message = refusal(program().arg("--model").arg(folder.path()));
        assert!(!message.contains("panicked"), "{message}");
    }
}

#[test]
fn bad_options_are_refused() {
    for args in [["--beam", "0"], ["--nbest", "9"], ["--threads", "0"], ["--batch-tokens", "0"], ["--max-len", "0"]] {
        let run = translate(args, b"A dog.\n");
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{args:?}");
    }
    assert_eq!(translate(["--no-such-flag"], b"").code, Some(2));
}

#[test]
fn sgml_is_refused_by_name() {
    let run = translate([] as [&str; 0], b"<srcset setid=\"newstest2014\" srclang=\"any\">\n<doc>\n");
    assert_eq!((run.code, run.stdout.as_str()), (Some(1), ""));
    assert!(run.stderr.contains("SGML") && run.stderr.contains("<srcset"), "{}", run.stderr);
}

#[test]
fn help_and_version_go_to_standard_output() {
    let help = run(program().arg("--help"), b"").ok();
    for word in ["Examples:", "--length-penalty", "larger = longer", "--nbest", "Exit status"] {
        assert!(help.contains(word), "{word} is missing from\n{help}");
    }
    assert!(run(program().arg("--version"), b"").ok().starts_with("translate "));
}
