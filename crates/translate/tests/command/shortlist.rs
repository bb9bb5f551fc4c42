//! Translation restricted to a shortlist, as a user sees it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use umlaut_text::Vocab;
use umlaut_text::corpus::{BitextFiles, PairFilter, load_pairs};
use umlaut_text::shortlist::ShortlistRecipe;

use crate::model::m0;
use crate::program::{mixed_lines, plain, run, translate, with_m0};

/// A shortlist of M0's vocabulary, narrow enough to be felt.
fn shortlist() -> &'static str {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    let file = FILE.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let files = BitextFiles { src: folder.join("lex.en"), tgt: folder.join("lex.de"), names: None };
        fs::write(&files.src, mixed_lines(40)).unwrap();
        fs::write(&files.tgt, "Die Katze sitzt auf der Matte.\nEin Hund l\u{e4}uft im Park.\n".repeat(20)).unwrap();
        let vocab = Vocab::open(m0().join("vocab.model")).unwrap();
        let (corpus, _) = load_pairs(&[files], None, &PairFilter::default(), &vocab).unwrap();
        let recipe = ShortlistRecipe { per_token: 10, frequent: 20, ..ShortlistRecipe::default() };
        fs::write(folder.join("lex.bin"), recipe.train(&corpus, &vocab).to_bytes()).unwrap();
        folder.join("lex.bin")
    });
    file.to_str().unwrap()
}

#[test]
fn neither_batches_nor_threads_nor_neighbours_change_a_byte() {
    let input = mixed_lines(60);
    for precision in ["f32", "int8"] {
        let translate = |args: &[&str], input: &str| {
            let args = [&["--scores", "--shortlist", shortlist(), "--precision", precision], args].concat();
            translate(args, input.as_bytes()).ok()
        };
        let expected = translate(&[], &input);
        for batch_tokens in ["1", "150", "100000"] {
            for threads in ["1", "3"] {
                let got = translate(&["--batch-tokens", batch_tokens, "--threads", threads], &input);
                assert_eq!(got, expected, "{precision}, batches of {batch_tokens}, {threads} threads");
            }
        }
        for (line, expected) in input.lines().zip(expected.lines()).take(10) {
            assert_eq!(translate(&[], line).trim_end(), expected);
        }
    }
}

#[test]
fn it_restricts() {
    let input = mixed_lines(30);
    assert_ne!(translate(["--shortlist", shortlist()], input.as_bytes()).ok(), plain(input.as_bytes()).ok());
}

#[test]
fn a_file_that_is_none_or_of_another_vocabulary_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = fs::read(shortlist()).unwrap();
    bytes[20] ^= 1;
    fs::write(folder.path().join("damaged"), &bytes).unwrap();
    for (file, words) in [("damaged", "not a usable shortlist"), ("missing", "missing")] {
        let refused = run(with_m0().current_dir(&folder).args(["--shortlist", file]), b"A dog.\n");
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""));
        assert!(refused.stderr.contains(words) && refused.stderr.contains(file), "{}", refused.stderr);
    }
}
