//! What normalisation changes, and what it leaves alone.

use std::borrow::Cow;
use umlaut_text::{is_blank, normalise, rng::SplitMix64};

#[test]
fn what_is_lost_is_what_the_table_says() {
    let table = [
        ("U\u{308}bung", "Übung"),
        ("\u{212b}", "Å"),
        ("\u{2126}", "Ω"),
        ("a\tb\u{b}c\u{c}d\re", "a b c d e"),
        ("a\u{1c}b\u{1d}c\u{1e}d\u{1f}e", "a b c d e"),
        ("a\u{85}b\u{2028}c\u{2029}d", "a b c d"),
        ("a\u{a0}b\u{202f}c\u{2009}d\u{3000}e", "a b c d e"),
        ("a\0b\u{7f}c\u{1b}d\u{9b}e", "a b c d e"),
        ("  a   b  ", "a b"),
        ("a\u{2581}b", "a b"),
        ("a\u{200b}b\u{feff}c", "abc"),
        ("a\u{2047}", "a??"),
    ];
    for (line, expected) in table {
        assert_eq!(normalise(line), expected, "{line:?}");
    }
}

#[test]
fn everything_else_stays() {
    let kept = [
        "10 m² ½ x™ … ﬁn № 5",
        "„Haus“ ‚Maus‘ »Laus« – —",
        "STRAẞE Straße",
        "Schiff\u{ad}fahrt",
        "😀 👩\u{200d}👩\u{200d}👧 ❤\u{fe0f}",
        "a\u{200e}b\u{200d}c",
        "</s> <unk> \\n &apos;",
        "日本語 русский עברית",
        "\u{fffd}",
        "",
    ];
    for line in kept {
        assert!(matches!(normalise(line), Cow::Borrowed(same) if same == line), "{line:?}");
    }
}

#[test]
fn lines_of_nothing_but_spaces_and_invisible_marks_are_blank() {
    for line in ["", " ", "\t", "\u{a0}", "\u{3000}", " \u{2028}\u{85} ", "\0", "\u{feff}", "\u{200b} \u{2581}"] {
        assert!(is_blank(line) && normalise(line).is_empty(), "{line:?}");
    }
    for line in [".", "\u{2047}", " a ", "\u{ad}"] {
        assert!(!is_blank(line) && !normalise(line).is_empty(), "{line:?}");
    }
}

#[test]
fn normalising_twice_changes_nothing_more_and_nothing_odd_is_left() {
    let mut random = SplitMix64::new(4);
    for _ in 0..20_000 {
        // Mostly from the blocks where spaces, marks and compositions live.
        let line: String = (0..random.below(8))
            .filter_map(|_| {
                let limit = [0x100, 0x400, 0x2100, 0x11_0000][random.below(4) as usize];
                char::from_u32(random.below(limit) as u32)
            })
            .collect();
        let once = normalise(&line).into_owned();
        assert_eq!(normalise(&once), once, "{line:?}");
        assert_eq!(once.is_empty(), is_blank(&line), "{line:?}");
        assert!(!once.contains(|c: char| c.is_control() || (c.is_whitespace() && c != ' ')), "{line:?}");
        assert!(!once.contains("  ") && once.trim() == once, "{line:?}");
    }
}
