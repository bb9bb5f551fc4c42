//! What a prepared data set holds.

use std::fs;

use umlaut_text::Vocab;
use umlaut_text::corpus::ShardSet;

use crate::kitchen::{Kitchen, PAIRS};

#[test]
fn a_data_set_holds_cleaned_text_the_sets_as_published_and_the_ids_of_the_text() {
    let kitchen = Kitchen::new();
    let output = kitchen.command("data", &[]).output().unwrap();
    let summary = String::from_utf8(output.stdout).unwrap();
    let folder = kitchen.path("data/toy");
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(read("valid.en"), "One.\nTwo &amp; two.\nThree.\n");
    assert_eq!(read("valid.de"), "Eins.\nZwei &amp; zwei.\n\u{a0}Drei.\n");
    assert_eq!(read("test.en"), "R&D is \"good\".\nSecond line.\n");
    assert_eq!(read("test.de"), "F&E ist \"gut\".\nZweite Zeile.\n");
    let text = |lang: &str| read(&format!("text/europarl.{lang}")) + &read(&format!("text/crawl.{lang}"));
    let (en, de) = (text("en"), text("de"));
    let vocab = Vocab::open(folder.join("vocab.model")).unwrap();
    let shards = ShardSet::open(folder.join("shards"), &vocab).unwrap();
    let pairs: Vec<_> = en.lines().zip(de.lines()).map(|(en, de)| (vocab.encode(en), vocab.encode(de))).collect();
    assert_eq!((en.lines().count(), de.lines().count()), (2 * PAIRS - 3, 2 * PAIRS - 3));
    // The last pair has sides of too different lengths.
    assert_eq!((vocab.len(), shards.len()), (400, pairs.len() - 1));
    assert!(pairs[..shards.len()].iter().enumerate().all(|(at, pair)| shards.pair(at).unwrap() == *pair));
    assert_eq!(fs::read_dir(folder.join("shards")).unwrap().count(), 3);
    for told in [
        "1200 pairs read, 1197 kept, 1 with a blank side, 1 with too long a line, 1 not UTF-8",
        "3: 1197 pairs read, 1196 kept, 1 of too different lengths",
        "400 pieces",
        "valid: 3 lines",
        "test: 2 lines",
    ] {
        assert!(summary.contains(told), "{told} is not in\n{summary}");
    }
}

#[test]
fn neither_threads_nor_the_folder_change_a_byte() {
    let kitchen = Kitchen::new();
    kitchen.prepare("one", &["--threads", "1"]);
    kitchen.prepare("two/deep", &["--threads", "3", "--quiet"]);
    crate::kitchen::assert_same(&kitchen.result("two/deep"), &kitchen.result("one"));
}

#[test]
fn a_set_that_is_not_the_known_text_is_warned_of_each_time() {
    let kitchen = Kitchen::new();
    let known = crate::kitchen::sum(b"F&E ist \"gut\".\nZweite Zeile.\n");
    let text = |sum: &str| {
        let member = "member = 'dev/news14-src.de.sgm'";
        kitchen.description().replace(member, &format!("{member}, sha256 = '{sum}'"))
    };
    kitchen.describe(&text(&known));
    assert!(!kitchen.prepare("data", &[]).contains("warning"));
    kitchen.describe(&text(&known.replace('a', "b")));
    for _ in 0..2 {
        let said = kitchen.prepare("data", &["--quiet"]);
        assert!(said.contains("warning: test.de has SHA-256") && said.contains(&known), "{said}");
    }
}
