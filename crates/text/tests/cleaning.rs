//! Downloaded text, line by line in step: what is kept, and how what is not is counted.

use umlaut_text::{
    TextError,
    corpus::{CleanReport, Cleaning, RawLines, clean_pairs},
};

fn clean(src: &[u8], tgt: &[u8], max_line_bytes: usize) -> Result<(Vec<String>, CleanReport), TextError> {
    let cleaning = Cleaning { max_line_bytes };
    let (src, tgt) = (RawLines::new(src, "a.tgz/en", cleaning), RawLines::new(tgt, "a.tgz/de", cleaning));
    let mut kept = Vec::new();
    let report = clean_pairs(src, tgt, |src, tgt| {
        kept.push(format!("{src} | {tgt}"));
        Ok::<_, TextError>(())
    })?;
    Ok((kept, report))
}

#[test]
fn each_reason_is_counted_and_the_pairs_in_between_stay_in_step() {
    let src = "\u{feff}One.\r\nTwo.\n\u{a0}\t\nFour\u{2028}is\u{0}a  line.\nfive\nsix six six six six six\nseven\nU\u{308}ber";
    let tgt: Vec<u8> = ["Eins.\n", "\n", "Drei.\n", "Vier.\n"].concat().into_bytes();
    let tgt = [&tgt[..], b"f\xfcnf\n", "sechs\nsieben\nacht\n".as_bytes()].concat();
    let (kept, report) = clean(src.as_bytes(), &tgt, 22).unwrap();
    assert_eq!(kept, ["One. | Eins.", "Four is a line. | Vier.", "seven | sieben", "Über | acht"]);
    assert_eq!(report, CleanReport { read: 8, kept: 4, too_long: 1, not_utf8: 1, blank: 2 });
    assert_eq!(report.to_string(), "8 pairs read, 4 kept, 2 with a blank side, 1 with too long a line, 1 not UTF-8");
}

#[test]
fn a_line_at_the_limit_is_kept_whatever_its_end_and_one_byte_more_is_not() {
    for end in ["\n", "\r\n", ""] {
        let (kept, _) = clean(format!("12345{end}").as_bytes(), b"x", 5).unwrap();
        assert_eq!(kept, ["12345 | x"], "{end:?}");
        for length in [6, 7, 8, 70_000] {
            let line = format!("{}{end}", "1".repeat(length));
            let (_, report) = clean(line.as_bytes(), b"x", 5).unwrap();
            assert_eq!((report.read, report.too_long), (1, 1), "{length} bytes and {end:?}");
        }
    }
    let (kept, report) = clean(&[&b"1234567890\n"[..], b"b\n"].concat(), b"x\ny\n", 5).unwrap();
    assert_eq!((kept, report.too_long), (vec!["b | y".to_owned()], 1));
}

#[test]
fn sides_of_unequal_length_are_refused_with_both_counts() {
    let error = clean(b"a\nb\nc\n", b"x\n", 100).unwrap_err().to_string();
    assert!(error.contains("a.tgz/en has 3") && error.contains("a.tgz/de has 1"), "{error}");
}

#[test]
fn a_test_set_in_sgml_is_no_training_text() {
    let error = clean(b"<srcset setid=\"a\">\n", b"x\n", 100).unwrap_err();
    assert!(matches!(error, TextError::Markup { .. }), "{error}");
}
