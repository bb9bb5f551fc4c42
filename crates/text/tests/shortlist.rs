//! Shortlists of a vocabulary and a corpus, as programs make and read them.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::fs;
use std::path::Path;

use umlaut_text::corpus::{BitextFiles, PairFilter, load_pairs};
use umlaut_text::shortlist::ShortlistRecipe;
use umlaut_text::vocab::VocabRecipe;
use umlaut_text::{Shortlist, TextError, TokenId, Vocab};

const WORDS: [(&str, &str); 6] =
    [("one", "eins"), ("two", "zwei"), ("three", "drei"), ("four", "vier"), ("five", "f\u{fc}nf"), ("six", "sechs")];

/// Numbers in words and their translations, and a vocabulary of them.
fn kitchen(folder: &Path) -> (BitextFiles, Vocab) {
    let files = BitextFiles { src: folder.join("n.en"), tgt: folder.join("n.de"), names: None };
    let lines = |pick: fn(&(&'static str, &'static str)) -> &'static str| -> String {
        let line = |n: usize| (0..=n % 4).map(|i| pick(&WORDS[(n * 5 + i * 7) % 6])).collect::<Vec<_>>().join(" ");
        (0..300).map(|n| line(n) + "\n").collect()
    };
    fs::write(&files.src, lines(|pair| pair.0)).unwrap();
    fs::write(&files.tgt, lines(|pair| pair.1)).unwrap();
    let recipe = VocabRecipe { size: 300, ..VocabRecipe::default() };
    let vocab = Vocab::from_bytes(&recipe.train(&[files.src.clone(), files.tgt.clone()]).unwrap()).unwrap();
    (files, vocab)
}

fn train(files: &BitextFiles, vocab: &Vocab, recipe: ShortlistRecipe, threads: usize) -> Shortlist {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        recipe.train(&load_pairs(std::slice::from_ref(files), None, &PairFilter::default(), vocab).unwrap().0, vocab)
    })
}

#[test]
fn a_list_has_the_translation_of_each_word_and_the_words_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let (files, vocab) = kitchen(folder.path());
    let recipe = ShortlistRecipe { per_token: 8, threshold: 0.05, frequent: 1, ..ShortlistRecipe::default() };
    let shortlist = train(&files, &vocab, recipe, 2);
    for (en, de) in WORDS {
        let source = [vocab.encode(en), vec![vocab.eos()]].concat();
        let list = shortlist.candidates(&source, 1);
        assert!(list.is_sorted_by(|a, b| a < b) && list.contains(&vocab.eos()));
        assert!(vocab.encode(de).iter().chain(&source).all(|token| list.contains(token)), "{en}");
        assert!(list.len() < 40, "{} for {en}", list.len());
    }
    let odd = vocab.encode("\u{1F408}");
    assert!(odd.len() > 1 && odd.iter().all(|byte| shortlist.candidates(&odd, 1).contains(byte)), "bytes are copied");
}

#[test]
fn threads_do_not_change_a_byte() {
    let folder = tempfile::tempdir().unwrap();
    let (files, vocab) = kitchen(folder.path());
    let bytes = |threads| train(&files, &vocab, ShortlistRecipe::default(), threads).to_bytes();
    assert_eq!(bytes(1), bytes(4));
}

#[test]
fn what_is_written_is_read_and_is_of_its_vocabulary() {
    let folder = tempfile::tempdir().unwrap();
    let (files, vocab) = kitchen(folder.path());
    let shortlist = train(&files, &vocab, ShortlistRecipe::default(), 1);
    let path = folder.path().join("lex");
    fs::write(&path, shortlist.to_bytes()).unwrap();
    assert_eq!(Shortlist::open(&path).unwrap(), shortlist);
    assert!(shortlist.is_of(&vocab));
    let other = VocabRecipe { size: 300, ..VocabRecipe::default() }.train(&[files.tgt]).unwrap();
    assert!(!shortlist.is_of(&Vocab::from_bytes(&other).unwrap()));
    fs::write(&path, &shortlist.to_bytes()[1..]).unwrap();
    assert!(matches!(Shortlist::open(&path), Err(TextError::NotAShortlist { .. })));
    assert!(matches!(Shortlist::open(folder.path().join("none")), Err(TextError::Open { .. })));
}

#[test]
fn a_corpus_of_nothing_makes_lists_of_the_source_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (mut files, vocab) = kitchen(folder.path());
    files.src = folder.path().join("empty");
    files.tgt = files.src.clone();
    fs::write(&files.src, "").unwrap();
    let shortlist = train(&files, &vocab, ShortlistRecipe::default(), 2);
    assert_eq!((shortlist.entries(), shortlist.candidates(&[TokenId(7)], 64)), (0, vec![TokenId(7)]));
}
