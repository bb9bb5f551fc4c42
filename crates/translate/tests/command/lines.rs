//! One line out for each line in.

use crate::program::{plain, translate};

#[test]
fn blank_lines_stay_blank() {
    let output = plain(b"The cat sits.\n\nA dog runs.\n").ok();
    let lines: Vec<&str> = output.split('\n').collect();
    assert_eq!(lines.len(), 4, "three line ends");
    assert!(!lines[0].is_empty() && lines[1].is_empty() && !lines[2].is_empty());
    assert_eq!(plain(b"\n\n\n").ok(), "\n\n\n");
    assert_eq!(plain(b"").ok(), "");
}

#[test]
fn lines_of_spaces_are_blank() {
    let output = plain(b" \n\t\n\xc2\xa0\n\xe3\x80\x80\nHi.\n").ok();
    assert!(output.starts_with("\n\n\n\n"), "{output:?}");
    assert_eq!(output.matches('\n').count(), 5);
}

#[test]
fn a_last_line_without_end_counts() {
    assert_eq!(plain(b"a\nb").ok(), plain(b"a\nb\n").ok());
    let with_blank = plain(b"a\n\n").ok();
    assert_eq!(with_blank.matches('\n').count(), 2);
    assert!(with_blank.ends_with("\n\n"));
}

#[test]
fn only_lf_ends_a_line() {
    for separator in ["\u{2028}", "\u{2029}", "\u{85}", "\u{b}", "\u{c}", "\u{1c}", "\u{1d}", "\u{1e}", "\r"] {
        let output = plain(format!("The cat{separator}sits.\nA dog.\n").as_bytes()).ok();
        assert_eq!(output.matches('\n').count(), 2, "{separator:?}");
    }
}

#[test]
fn windows_line_ends_and_byte_order_marks_change_nothing() {
    let expected = plain(b"Hello.\nBye.\n").ok();
    assert_eq!(plain(b"Hello.\r\nBye.\r\n").ok(), expected);
    assert_eq!(plain(b"\xEF\xBB\xBFHello.\nBye.\n").ok(), expected);
    assert!(!expected.contains('\r'));
}

#[test]
fn a_line_that_is_not_utf8_is_named_and_the_others_are_translated() {
    let run = plain(b"A dog.\ncaf\xE9\nA cat.\n");
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("line 2: not valid UTF-8"), "{}", run.stderr);
    assert_eq!(run.stdout.lines().count(), 3);
    assert_eq!(run.stdout.lines().next(), plain(b"A dog.\n").stdout.lines().next());
}

#[test]
fn a_nul_loses_nothing() {
    let output = plain(b"The cat\0sits.\nA dog.\n").ok();
    assert_eq!(output.matches('\n').count(), 2);
    assert_eq!(output, plain(b"The cat sits.\nA dog.\n").ok());
}

#[test]
fn very_long_lines_are_one_line_each_and_named() {
    for (count, in_pieces) in [(20, false), (200, true), (1000, true)] {
        let line = "the cat sits on the mat ".repeat(count);
        let run = translate(["--beam", "1"], format!("A dog.\n{line}\n").as_bytes());
        assert_eq!((run.code, run.stdout.matches('\n').count()), (Some(0), 2));
        assert_eq!(run.stderr.contains("line 2: too long for one sentence"), in_pieces, "{}", run.stderr);
    }
}
