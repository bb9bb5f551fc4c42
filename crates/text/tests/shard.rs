//! Shards: the pairs that went in come out, and a damaged or foreign file is refused.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::{
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};
use tempfile::TempDir;
use umlaut_text::{
    Vocab,
    corpus::{
        BitextFiles, FilterReport, PairCorpus, PairCutter, PairFilter, ShardSet, load_pairs,
        shard::{ShardMark, shard_bytes, shard_name},
    },
    vocab::VocabRecipe,
};

fn toy(size: usize) -> Vocab {
    let text: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "fixtures", "toy.txt"].iter().collect();
    Vocab::from_bytes(&VocabRecipe { size, ..VocabRecipe::default() }.train(&[text]).unwrap()).unwrap()
}

static TOY: LazyLock<Vocab> = LazyLock::new(|| toy(420));

/// Two corpora of 23 and 10 pairs of many lengths, some with a blank side.
fn corpora(folder: &Path) -> Vec<BitextFiles> {
    let side = |lines: usize, word: &str, from: usize| -> String {
        (0..lines).map(|line| (word.to_owned() + " ").repeat((line * from) % 9) + "\n").collect()
    };
    let files = |name: &str, lines: usize| {
        let [src, tgt] = [("en", "cat", 5), ("de", "Hund", 7)].map(|(lang, word, from)| {
            let path = folder.join(format!("{name}.{lang}"));
            fs::write(&path, side(lines, word, from)).unwrap();
            path
        });
        BitextFiles { src, tgt, names: None }
    };
    vec![files("a", 23), files("b", 10)]
}

/// The set in shards of seven lines.
fn write_set(folder: &Path, files: &[BitextFiles], filter: &PairFilter) -> FilterReport {
    let mut cutter = PairCutter::new(files, filter, &TOY);
    let mut total = FilterReport::default();
    for number in 0..5 {
        let (corpus, report) = cutter.next_piece(7).unwrap();
        assert_eq!(report.read, if number < 4 { 7 } else { 5 });
        let mark = ShardMark { number, count: 5, origin: [3; 32] };
        fs::write(folder.join(shard_name(number)), shard_bytes(&corpus, &TOY, &mark)).unwrap();
        total = total.plus(&report);
    }
    total
}

fn set() -> (TempDir, PairCorpus, FilterReport) {
    let dir = tempfile::tempdir().unwrap();
    let files = corpora(dir.path());
    let lengths = load_pairs(&files, None, &PairFilter::default(), &TOY).unwrap().0.lengths();
    let longest = lengths.iter().map(|(src, tgt)| src.max(tgt)).max().unwrap();
    let filter = PairFilter { max_tokens: Some(longest - 1), ..PairFilter::default() };
    let report = write_set(dir.path(), &files, &filter);
    let (corpus, whole) = load_pairs(&files, None, &filter, &TOY).unwrap();
    assert_eq!(report, whole);
    assert!(report.empty > 0 && report.too_long > 0, "{report}");
    (dir, corpus, report)
}

#[test]
fn shards_hold_the_pairs_that_memory_would() {
    let (dir, corpus, report) = set();
    let shards = ShardSet::open(dir.path(), &TOY).unwrap();
    assert_eq!((shards.len(), shards.is_empty()), (corpus.len(), false));
    // Backwards, so that no pair is where the one before left the cursor.
    for pair in (0..corpus.len()).rev() {
        assert_eq!(shards.pair(pair).unwrap(), (corpus.src.get(pair), corpus.tgt.get(pair)), "pair {pair}");
    }
    let kept = shards.kept(&PairFilter::default()).unwrap();
    assert_eq!((&kept.lengths, kept.report.kept), (&corpus.lengths(), report.kept));
    let longest = corpus.lengths().iter().map(|(src, tgt)| *src.max(tgt)).max().unwrap();
    let narrow = PairFilter { max_tokens: Some(longest / 2), ..PairFilter::default() };
    let kept = shards.kept(&narrow).unwrap();
    let expected = corpus.lengths().into_iter().filter(|(src, tgt)| *src.max(tgt) <= longest / 2).collect::<Vec<_>>();
    assert!(!expected.is_empty() && expected.len() < corpus.len());
    assert_eq!(kept.lengths, expected);
    assert!(kept.pairs.iter().zip(&kept.lengths).all(|(&pair, &lengths)| corpus.lengths()[pair as usize] == lengths));
}

#[test]
fn a_piece_after_skipped_lines_is_the_piece_of_a_whole_walk() {
    let dir = tempfile::tempdir().unwrap();
    let files = corpora(dir.path());
    let filter = PairFilter::default();
    let mut whole = PairCutter::new(&files, &filter, &TOY);
    for start in (0..35).step_by(7) {
        let mut cutter = PairCutter::new(&files, &filter, &TOY);
        cutter.skip(start).unwrap();
        assert_eq!(cutter.next_piece(7).unwrap(), whole.next_piece(7).unwrap(), "from line {start}");
    }
    assert_eq!(whole.next_piece(7).unwrap().1.read, 0);
}

#[test]
fn a_changed_cut_or_missing_file_is_named() {
    let (dir, ..) = set();
    let path = dir.path().join(shard_name(2));
    let good = fs::read(&path).unwrap();
    let refused = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let error = ShardSet::open(dir.path(), &TOY).unwrap_err().to_string();
        assert!(error.contains("00002.ids"), "{error}");
        error
    };
    for at in [0, 9, 13, 20, 33, 50, 90, 115, good.len() - 40, good.len() - 1] {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        refused(&bytes);
    }
    for length in [0, 50, 111, good.len() - 1] {
        refused(&good[..length]);
    }
    refused(&[&good[..], b"more"].concat());
    let first = fs::read(dir.path().join(shard_name(1))).unwrap();
    assert!(refused(&first).contains("another set"));
    fs::remove_file(&path).unwrap();
    assert!(ShardSet::open(dir.path(), &TOY).unwrap_err().to_string().contains("00002.ids"));
}

#[test]
fn shards_of_another_vocabulary_or_of_a_larger_set_are_refused() {
    let (dir, ..) = set();
    let error = ShardSet::open(dir.path(), &toy(400)).unwrap_err().to_string();
    assert!(error.contains("another vocabulary"), "{error}");
    fs::copy(dir.path().join(shard_name(4)), dir.path().join(shard_name(5))).unwrap();
    let error = ShardSet::open(dir.path(), &TOY).unwrap_err().to_string();
    assert!(error.contains("00005.ids") && error.contains("fewer shards"), "{error}");
}

#[test]
fn an_empty_shard_is_one() {
    let dir = tempfile::tempdir().unwrap();
    let mark = ShardMark { number: 0, count: 1, origin: [0; 32] };
    let bytes = shard_bytes(&PairCorpus::new(TOY.len()), &TOY, &mark);
    assert_eq!(bytes.len(), 112 + 8 + 32);
    fs::write(dir.path().join(shard_name(0)), bytes).unwrap();
    assert!(ShardSet::open(dir.path(), &TOY).unwrap().is_empty());
}
