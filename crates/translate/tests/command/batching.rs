//! How lines are gathered and shared out is nobody's business.

use crate::program::{mixed_lines, plain, translate};

#[test]
fn every_number_of_lines_is_translated() {
    for count in [1, 7, 8, 9, 63, 64, 65, 373] {
        let output = translate(["--beam", "1", "--max-len", "4"], mixed_lines(count).as_bytes()).ok();
        assert_eq!(output.lines().count(), count);
    }
}

#[test]
fn neither_batches_nor_threads_nor_windows_change_a_byte() {
    let input = mixed_lines(200);
    let expected = translate(["--scores"], input.as_bytes()).ok();
    for batch_tokens in ["1", "150", "1000", "100000"] {
        for threads in ["1", "3"] {
            let args = ["--scores", "--batch-tokens", batch_tokens, "--threads", threads];
            assert_eq!(
                translate(args, input.as_bytes()).ok(),
                expected,
                "batches of {batch_tokens}, {threads} threads"
            );
        }
    }
    assert_eq!(translate(["--scores", "--line-buffered"], input.as_bytes()).ok(), expected, "line by line");
}

#[test]
fn a_line_is_translated_as_if_alone() {
    let input = mixed_lines(30);
    let together = plain(input.as_bytes()).ok();
    for (line, expected) in input.lines().zip(together.lines()) {
        assert_eq!(plain(line.as_bytes()).ok().trim_end_matches('\n'), expected);
    }
}
