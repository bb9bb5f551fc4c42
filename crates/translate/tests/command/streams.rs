//! Standard input, standard output, standard error, and files.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::model::copy_of_m0;
use crate::program::{mixed_lines, plain, program, run, translate, with_m0};

#[test]
fn files_and_standard_input_give_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = ("A dog runs.\nA cat sits.\n", "Two people talk.");
    fs::write(folder.path().join("first.en"), first).unwrap();
    fs::write(folder.path().join("second.en"), second).unwrap();
    let expected = plain(format!("{first}{second}\n").as_bytes()).ok();
    let mut from_files = with_m0();
    from_files.current_dir(&folder).args(["first.en", "second.en"]);
    assert_eq!(run(&mut from_files, b"").ok(), expected);
    let mut from_both = with_m0();
    from_both.current_dir(&folder).args(["first.en", "-"]);
    assert_eq!(run(&mut from_both, second.as_bytes()).ok(), expected);
    let mut to_file = with_m0();
    to_file.current_dir(&folder).args(["first.en", "second.en", "-o", "out.de"]);
    assert_eq!(run(&mut to_file, b"").ok(), "");
    assert_eq!(fs::read_to_string(folder.path().join("out.de")).unwrap(), expected);
    assert!(!folder.path().join("out.de.part").exists());
}

#[test]
fn line_by_line_each_answer_comes_before_the_next_question() {
    let mut child = with_m0().arg("--line-buffered").spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let stdout = child.stdout.take().unwrap();
    let (answers, answered) = mpsc::channel();
    thread::spawn(move || BufReader::new(stdout).lines().try_for_each(|line| answers.send(line.unwrap())));
    let mut conversation = Vec::new();
    for question in ["A dog.", "A cat.", "", "Two people talk.", "The mat."] {
        writeln!(stdin, "{question}").unwrap();
        conversation.push(answered.recv_timeout(Duration::from_mins(1)).expect("an answer"));
    }
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let at_once = plain(b"A dog.\nA cat.\n\nTwo people talk.\nThe mat.\n").ok();
    assert_eq!(conversation, at_once.lines().collect::<Vec<_>>());
}

#[test]
fn standard_output_carries_translations_and_quiet_means_quiet() {
    let run = translate(["--max-len", "1"], b"A dog.\nA cat.\nThe mat.\n");
    assert_eq!(run.stdout.lines().count(), 3);
    assert!(run.stderr.contains("warning") && !run.stderr.contains('\r'), "{}", run.stderr);
    let quiet = translate(["--max-len", "1", "--quiet"], b"A dog.\nA cat.\nThe mat.\n");
    assert_eq!((quiet.stdout, quiet.stderr.as_str()), (run.stdout, ""));
}

#[test]
fn a_closed_pipe_is_success_without_a_word() {
    let mut child = with_m0().args(["--line-buffered", "--quiet"]).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdin.write_all(b"A dog.\n").unwrap();
    stdout.read_line(&mut String::new()).unwrap();
    drop(stdout);
    stdin.write_all(b"A cat.\nA cat.\n").unwrap();
    drop(stdin);
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_killed_run_leaves_whole_lines_under_another_name() {
    let folder = tempfile::tempdir().unwrap();
    let (out, part) = (folder.path().join("out.de"), folder.path().join("out.de.part"));
    let mut child = with_m0().arg("--line-buffered").arg("-o").arg(&out).stdout(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"A dog.\nA cat.\n").unwrap();
    let expected = plain(b"A dog.\nA cat.\n").ok();
    for _ in 0..600 {
        if fs::read_to_string(&part).is_ok_and(|text| text.lines().count() == 2) {
            break;
        }
        thread::sleep(Duration::from_millis(100));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!out.exists());
    assert_eq!(fs::read_to_string(&part).unwrap(), expected);
}

#[test]
fn a_failed_run_leaves_the_old_file_alone() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.de");
    fs::write(&out, "old\n").unwrap();
    let mut markup = with_m0();
    markup.arg("-o").arg(&out);
    assert_eq!(run(&mut markup, b"<srcset setid=\"newstest2014\">\n").code, Some(1));
    assert_eq!(fs::read_to_string(&out).unwrap(), "old\n");
    assert!(!folder.path().join("out.de.part").exists(), "nothing was translated, nothing is left");
}

#[cfg(unix)]
#[test]
fn what_is_no_ordinary_file_is_written_directly() {
    assert_eq!(translate(["-o", "/dev/null"], b"A dog.\n").ok(), "");
    assert!(!std::path::Path::new("/dev/null.part").exists());
    let full = translate(["-o", "/dev/full"], b"A dog.\n");
    assert_eq!(full.code, Some(2));
    assert!(full.stderr.contains("cannot write"), "{}", full.stderr);
}

#[test]
fn the_locale_changes_nothing() {
    let input = "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich.\n";
    let expected = translate(["--scores"], input.as_bytes()).ok();
    for locale in ["C", "POSIX", "de_DE.UTF-8"] {
        let mut command = with_m0();
        command.env("LC_ALL", locale).env("LANG", locale).arg("--scores");
        assert_eq!(run(&mut command, input.as_bytes()).ok(), expected, "{locale}");
    }
}

#[test]
fn a_model_directory_can_be_moved() {
    let folder = tempfile::tempdir().unwrap();
    let old = folder.path().join("old");
    fs::create_dir(&old).unwrap();
    copy_of_m0(&old);
    fs::rename(&old, folder.path().join("new")).unwrap();
    let mut command = program();
    command.current_dir(&folder).args(["--model", "new"]);
    let input = mixed_lines(5);
    assert_eq!(run(&mut command, input.as_bytes()).ok(), plain(input.as_bytes()).ok());
}
