//! Text of all kinds goes in, and only text comes out.

use crate::program::plain;

#[test]
fn control_symbols_in_text_are_text() {
    let output = plain(b"The cat </s> sits.\n<s> <pad> <unk>\n</s>\n").ok();
    assert_eq!(output.lines().filter(|line| !line.is_empty()).count(), 3);
}

#[test]
fn no_mark_of_the_vocabulary_is_ever_printed() {
    let input = "Mr Kılıçöz\nNice \u{1F600}!\n漢字かな\nالعربية\n▁▁x\n\u{2047}\n@@ a@@ b\n";
    let output = plain(input.as_bytes()).ok();
    assert_eq!(output.lines().count(), 7);
    for mark in ["\u{2047}", "\u{2581}", "<unk>", "<s>", "</s>", "<pad>", "\u{FFFD}"] {
        assert!(!output.contains(mark), "{mark} in {output}");
    }
}

#[test]
fn composed_and_decomposed_letters_are_the_same() {
    let composed = plain("Übung für Käthe, Zoë und André.\n".as_bytes()).ok();
    let decomposed = plain("U\u{308}bung fu\u{308}r Ka\u{308}the, Zoe\u{308} und Andre\u{301}.\n".as_bytes()).ok();
    assert_eq!(composed, decomposed);
}
