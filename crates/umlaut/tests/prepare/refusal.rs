//! Archives and descriptions that do not fit together.

use crate::kitchen::{DEV, EUROPARL, Kitchen, archive, sgml};

/// Serves another archive under the name, with the description's checksum put right.
fn replace(kitchen: &mut Kitchen, name: &'static str, bytes: Vec<u8>) {
    kitchen.server.put(name, &bytes, None);
    kitchen.archives.insert(name, bytes);
    kitchen.describe(&kitchen.description());
}

#[test]
fn a_member_that_is_missing_is_named_with_those_that_are_there() {
    let kitchen = Kitchen::new();
    kitchen.describe(&kitchen.description().replace("europarl-v7.de-en.de", "europarl-v8.de-en.de"));
    let reason = kitchen.fail("data", &[]);
    for told in [EUROPARL, "no member training/europarl-v8.de-en.de", "training/europarl-v7.de-en.de"] {
        assert!(reason.contains(told), "{told} is not in {reason}");
    }
}

#[test]
fn sides_that_are_not_in_step_are_refused() {
    let mut kitchen = Kitchen::new();
    let members: [(&str, &[u8]); 2] =
        [("training/europarl-v7.de-en.en", b"a\nb\n"), ("training/europarl-v7.de-en.de", b"a\nb\nc\n")];
    replace(&mut kitchen, EUROPARL, archive(&members));
    let reason = kitchen.fail("data", &[]);
    assert!(reason.contains("de-en.en has 2") && reason.contains("de-en.de has 3"), "{reason}");
    assert!(!kitchen.path("data/toy/text/europarl.en").exists());
}

#[test]
fn a_set_of_another_length_or_with_other_segments_is_refused() {
    let mut kitchen = Kitchen::new();
    kitchen.describe(&kitchen.description().replace("lines = 3", "lines = 4"));
    let reason = kitchen.fail("data", &[]);
    assert!(reason.contains("dev/news13.en: 3 lines, 4 are expected"), "{reason}");
    let source = String::from_utf8(sgml("srcset", ["Eins.", "Zwei."])).unwrap().replace("docid=\"b\"", "docid=\"c\"");
    let members: [(&str, &[u8]); 4] = [
        ("dev/news13.de", b"1\n2\n3\n"),
        ("dev/news13.en", b"1\n2\n3\n"),
        ("dev/news14-ref.en.sgm", &sgml("refset", ["One.", "Two."])),
        ("dev/news14-src.de.sgm", source.as_bytes()),
    ];
    replace(&mut kitchen, DEV, archive(&members));
    let reason = kitchen.fail("other", &[]);
    assert!(reason.contains("segment 1 of document b stands beside segment 1 of document c"), "{reason}");
}

#[test]
fn an_archive_that_breaks_off_is_told_as_one() {
    let mut kitchen = Kitchen::new();
    let half = kitchen.archives[EUROPARL][..9000].to_vec();
    replace(&mut kitchen, EUROPARL, half);
    let reason = kitchen.fail("data", &[]);
    assert!(reason.contains(EUROPARL), "{reason}");
    assert!(!kitchen.path("data/toy/text/europarl.en").exists());
}

#[test]
fn a_description_with_an_unknown_field_or_a_bad_name_is_refused() {
    let kitchen = Kitchen::new();
    let good = kitchen.description();
    for (from, to, told) in [
        ("shard_pairs", "shard_pears", "shard_pears"),
        ("max_tokens = 250", "max_token = 250", "max_token"),
        ("name = 'crawl'", "name = '../crawl'", "`../crawl` is no name"),
        ("name = 'crawl'", "name = 'europarl'", "two sets are named `europarl`"),
        ("archive = 'dev.tgz'", "archive = 'div.tgz'", "none of [[archives]]"),
        ("sha256 = '", "sha256 = 'A", "64 lower-case hexadecimal digits"),
    ] {
        kitchen.describe(&good.replace(from, to));
        let reason = kitchen.fail("data", &[]);
        assert!(reason.contains(told) && reason.contains("data.toml"), "{told} is not in {reason}");
        assert!(!kitchen.path("data").exists());
    }
}
