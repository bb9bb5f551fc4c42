//! A file shared among processes: what they make is joined to what one would have made, or not at all.

use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration;

use crate::model::{copy_of_m0, m0};
use crate::program::{Run, mixed_lines, program, run, with_m0};

const INPUT: &str = "big.en";

/// A folder with a file of lines, the last without an end, one of them in another encoding's line ends.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let lines = mixed_lines(60).replacen('\n', "\r\n", 3);
    fs::write(folder.path().join(INPUT), format!("{lines}\n\n<?xml is text here\nA dog.")).unwrap();
    folder
}

fn translate(folder: &Path, args: &[&str]) -> Run {
    run(with_m0().current_dir(folder).args(args), b"")
}

fn shard(folder: &Path, shard: &str, options: &[&str]) -> Run {
    translate(folder, &[&["--shard", shard, INPUT, "-o", "parts"], options].concat())
}

/// What the program says when it joins, which must go well, and the joined bytes.
#[track_caller]
fn join(folder: &Path) -> Vec<u8> {
    run(program().current_dir(folder).args(["--join", "parts", INPUT, "-o", "big.de"]), b"").ok();
    fs::read(folder.join("big.de")).unwrap()
}

/// What keeps the shards from being joined: all that is said but the first line.
#[track_caller]
fn faults(folder: &Path, args: &[&str]) -> Vec<String> {
    let refused = run(program().current_dir(folder).args(["--join", "parts", "-o", "joined.de"]).args(args), b"");
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{}", refused.stderr);
    assert!(!folder.join("joined.de").exists() && !folder.join("joined.de.part").exists());
    refused.stderr.lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn any_number_of_shards_joins_to_the_bytes_of_one_run() {
    let folder = folder();
    let ways: [(&[&str], &[usize]); 3] =
        [(&["--beam", "2"], &[1, 3, 9]), (&["--scores"], &[2]), (&["--nbest", "2"], &[4])];
    for (options, counts) in ways {
        let whole = translate(folder.path(), &[&[INPUT], options].concat()).ok();
        for count in counts {
            for number in 1..=*count {
                shard(folder.path(), &format!("{number}/{count}"), options).ok();
            }
            assert!(join(folder.path()) == whole.as_bytes(), "{count} shards, {options:?}");
            fs::remove_dir_all(folder.path().join("parts")).unwrap();
        }
    }
}

/// Four processes that answer line by line, so that one can be met at work.
fn four_at_work(folder: &Path) -> Vec<Child> {
    let start = |number: usize| {
        let mut command = with_m0();
        command.current_dir(folder).args(["--line-buffered", "--threads", "1", INPUT, "-o", "parts"]);
        command.args(["--shard", &format!("{number}/4")]).spawn().unwrap()
    };
    (1..=4).map(start).collect()
}

fn has_begun(parts: &Path, shard: &str) -> bool {
    let is_part = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        name.starts_with(shard) && name.contains(".part") && entry.metadata().is_ok_and(|metadata| metadata.len() > 0)
    };
    fs::read_dir(parts).is_ok_and(|entries| entries.flatten().any(is_part))
}

#[cfg(unix)]
#[test]
fn a_killed_process_is_found_and_its_shard_made_again_by_the_command_that_is_named() {
    let folder = folder();
    fs::write(folder.path().join(INPUT), mixed_lines(300)).unwrap();
    let parts = folder.path().join("parts");
    let mut processes = four_at_work(folder.path());
    while !has_begun(&parts, "shard-3") {
        assert!(processes[2].try_wait().unwrap().is_none(), "it was done before it was met");
        thread::sleep(Duration::from_millis(1));
    }
    processes[2].kill().unwrap();
    let codes: Vec<_> = processes.iter_mut().map(|process| process.wait().unwrap().code()).collect();
    assert_eq!(codes, [Some(0), Some(0), None, Some(0)]);

    let faults = faults(folder.path(), &[INPUT]);
    let [fault] = faults.as_slice() else { panic!("one shard is missing: {faults:?}") };
    let command = fault.strip_prefix("translate: shard 3/4: missing: translate ").expect("a command");
    let redo = format!("{} {command}", env!("CARGO_BIN_EXE_translate"));
    run(program_of("sh", &["-c", &redo]).current_dir(&folder), b"").ok();
    let whole = translate(folder.path(), &[INPUT]).ok();
    assert!(join(folder.path()) == whole.as_bytes());
}

#[cfg(unix)]
#[test]
fn numbers_of_shards_may_come_through_a_pipe() {
    let folder = folder();
    let each = format!(
        "xargs -I K '{}' --model '{}' --shard K/3 {INPUT} -o parts",
        env!("CARGO_BIN_EXE_translate"),
        m0().display()
    );
    for numbers in ["1\n3\n", "2\n"] {
        run(program_of("sh", &["-c", &each]).current_dir(&folder), numbers.as_bytes()).ok();
    }
    assert!(join(folder.path()) == translate(folder.path(), &[INPUT]).ok().as_bytes());
}

fn program_of(name: &str, args: &[&str]) -> Command {
    use std::process::Stdio;
    let mut command = Command::new(name);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn a_shard_made_otherwise_is_named_with_what_differs() {
    let folder = folder();
    for number in 1..=4 {
        let options: &[&str] = if number == 2 { &["--beam", "1"] } else { &[] };
        shard(folder.path(), &format!("{number}/4"), options).ok();
    }
    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    copy_of_m0(&other);
    let config = fs::read_to_string(other.join("config.json")).unwrap();
    fs::write(other.join("config.json"), config + "\n").unwrap();
    let args = ["--model", "other", "--shard", "4/4", INPUT, "-o", "parts"];
    run(program().current_dir(&folder).args(args), b"").ok();
    let found = faults(folder.path(), &[]);
    assert!(found[0].contains("shard 2/4: made with beam 1 (elsewhere 4): translate --shard 2/4 --model"), "{found:?}");
    assert!(found[1].contains("shard 4/4: made with model_sha256"), "{found:?}");
    assert_eq!(found.len(), 2);
}

#[test]
fn a_translation_or_manifest_that_was_changed_is_found() {
    let folder = folder();
    let parts = folder.path().join("parts");
    for number in 1..=3 {
        shard(folder.path(), &format!("{number}/3"), &[]).ok();
    }
    let translation = fs::read_to_string(parts.join("shard-1-of-3.txt")).unwrap();
    fs::write(parts.join("shard-1-of-3.txt"), translation.replacen('\n', " \n", 1)).unwrap();
    let manifest = fs::read_to_string(parts.join("shard-2-of-3.json")).unwrap();
    fs::write(parts.join("shard-2-of-3.json"), &manifest[..manifest.len() / 2]).unwrap();
    fs::remove_file(parts.join("shard-3-of-3.txt")).unwrap();
    let found = faults(folder.path(), &[]);
    let expected = ["was changed", "manifest cannot be read", "missing"];
    assert!(found.len() == 3 && found.iter().zip(expected).all(|(fault, words)| fault.contains(words)), "{found:?}");
}

#[test]
fn an_input_that_changed_in_between_is_found() {
    let folder = folder();
    let input = folder.path().join(INPUT);
    let text = fs::read_to_string(&input).unwrap();
    for number in 1..=3 {
        if number == 3 {
            fs::write(&input, format!("{text} More.")).unwrap();
        }
        shard(folder.path(), &format!("{number}/3"), &[]).ok();
    }
    let found = faults(folder.path(), &[]);
    assert!(found.len() == 1 && found[0].contains("shard 3/3: made with an input of bytes"), "{found:?}");
    shard(folder.path(), "1/3", &[]).ok();
    shard(folder.path(), "2/3", &[]).ok();
    // As long as before, and cut at the same places: only the file itself tells.
    fs::write(&input, format!("{text} Less.")).unwrap();
    assert!(!run(program().current_dir(&folder).args(["--join", "parts"]), b"").ok().is_empty());
    let found = faults(folder.path(), &[INPUT]);
    assert!(found.len() == 1 && found[0].contains("shard 3/3: its lines are not those of big.en"), "{found:?}");
}

#[test]
fn a_shard_that_is_there_is_not_translated_again() {
    let folder = folder();
    let output = folder.path().join("parts/shard-2-of-3.txt");
    shard(folder.path(), "2/3", &[]).ok();
    let made = fs::metadata(&output).unwrap().modified().unwrap();
    let again = shard(folder.path(), "2/3", &[]);
    assert!(again.code == Some(0) && again.stderr.contains("is there already"), "{}", again.stderr);
    assert_eq!(fs::metadata(&output).unwrap().modified().unwrap(), made);
    fs::write(&output, "spoilt\n").unwrap();
    assert_eq!(shard(folder.path(), "2/3", &["--quiet"]).stderr, "");
    assert_ne!(fs::read_to_string(&output).unwrap(), "spoilt\n");
}

#[test]
fn what_is_not_utf8_is_reported_as_by_one_run() {
    let folder = folder();
    fs::write(folder.path().join(INPUT), b"A dog.\nA cat.\nThe mat.\nA caf\xE9.\n").unwrap();
    assert_eq!(shard(folder.path(), "1/2", &[]).code, Some(0));
    for _ in 0..2 {
        assert_eq!(shard(folder.path(), "2/2", &[]).code, Some(1));
    }
    let whole = translate(folder.path(), &[INPUT]);
    let joined = run(program().current_dir(&folder).args(["--join", "parts"]), b"");
    assert_eq!((joined.code, joined.stdout), (whole.code, whole.stdout));
    assert!(joined.stderr.contains("shard 2/2"), "{}", joined.stderr);
}

#[test]
fn what_cannot_be_shared_or_joined_is_refused() {
    let folder = folder();
    fs::create_dir(folder.path().join("parts")).unwrap();
    let refusals: [(&[&str], &str); 8] = [
        (&["--shard", "0/3", INPUT, "-o", "parts"], "K/N"),
        (&["--shard", "1/3", INPUT], "--output"),
        (&["--shard", "1/3", "-o", "parts"], "one FILE"),
        (&["--shard", "1/3", "-", "-o", "parts"], "cannot open -"),
        (&["--shard", "1/3", "missing.en", "-o", "parts"], "missing.en"),
        (&["--join", "parts"], "holds no shard"),
        (&["--join", "nowhere"], "nowhere"),
        (&["--join", "parts", "--beam", "3"], "--beam"),
    ];
    for (args, words) in refusals {
        let refused = run(program().current_dir(&folder).args(args), b"");
        assert!(refused.code == Some(2) && refused.stderr.contains(words), "{args:?}: {}", refused.stderr);
    }
    for which in ["1/2", "1/3"] {
        shard(folder.path(), which, &[]).ok();
    }
    let mixed = run(program().current_dir(&folder).args(["--join", "parts"]), b"");
    assert!(mixed.code == Some(2) && mixed.stderr.contains("shards of 2 and of 3"), "{}", mixed.stderr);
}
