//! The vocabulary against SentencePiece's own trainer and encoder, and over the odd lines that users type.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use serde::Deserialize;
use std::{fs, path::PathBuf, sync::LazyLock};
use umlaut_text::{
    TextError, TokenId, Vocab, normalise,
    rng::SplitMix64,
    vocab::{Normalization, VocabRecipe},
};

/// What `fixtures/golden.py` wrote.
#[derive(Deserialize)]
struct Golden {
    lines: Vec<String>,
    models: Vec<GoldenModel>,
}

#[derive(Deserialize)]
struct GoldenModel {
    normalization: Normalization,
    pieces: Vec<String>,
    ids: Vec<Vec<u32>>,
}

static GOLDEN: LazyLock<Golden> =
    LazyLock::new(|| serde_json::from_str(&fs::read_to_string(fixture("golden.json")).unwrap()).unwrap());

static TOY: LazyLock<Vocab> = LazyLock::new(|| train(&recipe()));

fn fixture(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "fixtures", name].iter().collect()
}

fn recipe() -> VocabRecipe {
    VocabRecipe { size: 420, ..VocabRecipe::default() }
}

fn train(recipe: &VocabRecipe) -> Vocab {
    Vocab::from_bytes(&recipe.train(&[fixture("toy.txt")]).unwrap()).unwrap()
}

fn numbers(ids: &[TokenId]) -> Vec<u32> {
    ids.iter().map(|id| id.0).collect()
}

fn toy_lines() -> Vec<String> {
    fs::read_to_string(fixture("toy.txt")).unwrap().lines().map(str::to_owned).collect()
}

/// A line of characters that are each likely to break something.
fn odd_line(random: &mut SplitMix64) -> String {
    const STOCK: [&str; 25] = [
        "a", "e", "sss", "The", " ", "  ", "\t", "\0", "\u{2028}", "\u{a0}", "\u{2581}", "\u{2047}", "ü", "u\u{308}",
        "\u{308}", "</s>", "<unk>", "<0x41>", "😀", "日", "\u{feff}", "\u{200b}", "ß", "½", "\u{fffd}",
    ];
    (0..random.below(12)).map(|_| STOCK[random.below(STOCK.len() as u64) as usize]).collect()
}

#[test]
fn pieces_and_ids_are_those_of_sentencepiece_itself() {
    for golden in &GOLDEN.models {
        let vocab = train(&VocabRecipe { normalization: golden.normalization, ..recipe() });
        let pieces: Vec<&str> = (0..vocab.len()).map(|id| vocab.piece(TokenId(id as u32)).unwrap()).collect();
        assert_eq!(pieces, golden.pieces, "{:?}", golden.normalization);
        for (line, ids) in GOLDEN.lines.iter().zip(&golden.ids) {
            assert_eq!(&numbers(&vocab.encode(line)), ids, "{line:?} with {:?}", golden.normalization);
        }
    }
}

#[test]
fn special_pieces_have_the_ids_that_every_model_of_ours_expects() {
    assert_eq!([TOY.unk(), TOY.bos(), TOY.eos(), TOY.pad()], [0, 1, 2, 3].map(TokenId));
    assert_eq!(TOY.len(), 420);
    assert_eq!(TOY.id("</s>"), Some(TOY.eos()));
    assert_eq!(TOY.piece(TokenId(420)), None);
}

#[test]
fn a_line_comes_back_as_its_normal_form() {
    let mut random = SplitMix64::new(11);
    let odd = (0..2000).map(|_| odd_line(&mut random));
    for line in GOLDEN.lines.iter().cloned().chain(toy_lines()).chain(odd) {
        let ids = TOY.encode(&line);
        assert_eq!(TOY.decode(&ids), normalise(&line), "{line:?}");
        assert_eq!(ids.is_empty(), umlaut_text::is_blank(&line), "{line:?}");
    }
}

#[test]
fn control_pieces_in_the_text_are_text() {
    let vocab = train(&VocabRecipe { control_symbols: vec!["<2de>".to_owned()], ..recipe() });
    let tag = vocab.id("<2de>").unwrap();
    let mut random = SplitMix64::new(5);
    let odd = (0..500).map(|_| odd_line(&mut random));
    for line in ["</s><s><pad><unk>", "a </s> b", "<2de> Hello", "<0x41>"].map(str::to_owned).into_iter().chain(odd) {
        let ids = vocab.encode(&line);
        let control = [vocab.unk(), vocab.bos(), vocab.eos(), vocab.pad(), tag];
        assert!(!ids.iter().any(|id| control.contains(id)), "{line:?}");
        assert_eq!(vocab.decode(&ids), normalise(&line));
    }
    assert!(vocab.encode("a </s> b").len() > 3);
}

#[test]
fn composed_and_decomposed_letters_have_the_same_ids() {
    for (composed, decomposed) in [("Übung", "U\u{308}bung"), ("Café", "Cafe\u{301}"), ("Å", "\u{212b}")] {
        assert_eq!(TOY.encode(composed), TOY.encode(decomposed));
        assert_eq!(TOY.decode(&TOY.encode(decomposed)), composed);
    }
}

#[test]
fn text_after_a_nul_is_not_lost() {
    assert_eq!(TOY.encode("The cat\0sits."), TOY.encode("The cat sits."));
}

#[test]
fn whatever_ids_a_model_says_come_out_as_one_clean_line() {
    let mut random = SplitMix64::new(2);
    for _ in 0..5000 {
        let ids: Vec<TokenId> = (0..random.below(12)).map(|_| TokenId(random.below(430) as u32)).collect();
        let line = TOY.decode(&ids);
        assert_eq!(line, normalise(&line), "{ids:?}");
        let bad = |c: char| c.is_control() || ['\u{2047}', '\u{2581}', '\u{fffd}'].contains(&c);
        assert!(!line.contains(bad) && !line.contains("<unk>"), "{ids:?} -> {line:?}");
    }
}

#[test]
fn bytes_that_make_no_character_leave_no_trace() {
    let byte = |byte: u8| TOY.id(&format!("<0x{byte:02X}>")).unwrap();
    let the = TOY.encode("The")[..].to_vec();
    let spoken = [the.clone(), vec![byte(0xC3), byte(0x28), byte(0xFF), byte(0x0A), byte(0x41)]].concat();
    assert_eq!(TOY.decode(&spoken), "The( A");
    assert_eq!(TOY.decode(&[TOY.bos(), TOY.unk(), TOY.eos(), TOY.pad(), TokenId(9999)]), "");
}

#[test]
fn without_byte_fallback_unknown_characters_are_dropped_and_never_printed_as_marks() {
    let vocab = train(&VocabRecipe { size: 200, byte_fallback: false, ..recipe() });
    let ids = vocab.encode("The 日本 cat");
    assert!(ids.contains(&vocab.unk()));
    assert_eq!(vocab.decode(&ids), "The cat");
    assert_eq!(vocab.resegment(&ids, 0.0, 1).unwrap(), ids);
}

#[test]
fn dropout_of_zero_is_plain_encoding_and_of_one_is_characters() {
    let mut random = SplitMix64::new(9);
    let odd = (0..1000).map(|_| odd_line(&mut random));
    // Of two equal merges in "sss" the left one comes first.
    for line in toy_lines().into_iter().chain(odd).chain(["sss".to_owned()]) {
        let ids = TOY.encode(&line);
        assert_eq!(TOY.encode_with_dropout(&line, 0.0, 1).unwrap(), ids, "{line:?}");
    }
    let characters = TOY.encode_with_dropout("The cat", 1.0, 1).unwrap();
    let pieces: Vec<&str> = characters.iter().map(|&id| TOY.piece(id).unwrap()).collect();
    assert_eq!(pieces, ["\u{2581}", "T", "h", "e", "\u{2581}", "c", "a", "t"]);
}

#[test]
fn dropout_spells_the_same_text_and_its_seed_alone_decides() {
    let mut differing = 0;
    for (seed, line) in toy_lines().iter().enumerate() {
        let dropped = TOY.encode_with_dropout(line, 0.2, seed as u64).unwrap();
        assert_eq!(TOY.decode(&dropped), *line);
        assert_eq!(TOY.resegment(&dropped, 0.0, 0).unwrap(), TOY.encode(line));
        let again = std::thread::scope(|scope| {
            scope.spawn(|| TOY.resegment(&TOY.encode(line), 0.2, seed as u64).unwrap()).join().unwrap()
        });
        assert_eq!(again, dropped);
        differing += usize::from(TOY.encode_with_dropout(line, 0.2, seed as u64 + 1000).unwrap() != dropped);
    }
    assert!(differing > 50, "{differing} of 60 lines change with the seed");
}

#[test]
fn dropout_skips_about_its_share_of_the_merges_that_come_up() {
    let ids = |seed| TOY.encode_with_dropout("xen", 0.1, seed).unwrap();
    assert_eq!(TOY.encode("xen").len(), 3, "a space, x, and one merge");
    let kept = (0..10_000).filter(|&seed| ids(seed).len() == 3).count();
    assert!((8900..9100).contains(&kept), "{kept} of 10000");
}

#[test]
fn training_twice_gives_the_same_bytes_whatever_the_order_of_the_files() {
    let dir = tempfile::tempdir().unwrap();
    let lines = toy_lines();
    let (one, two) = (dir.path().join("one"), dir.path().join("two"));
    fs::write(&one, lines[..30].join("\n")).unwrap();
    fs::write(&two, lines[30..].join("\r\n")).unwrap();
    let whole = recipe().train(&[fixture("toy.txt")]).unwrap();
    assert_eq!(recipe().train(&[&one, &two]).unwrap(), whole);
    assert_eq!(recipe().train(&[two, one]).unwrap(), whole);
    assert_eq!(train(&recipe()).as_bytes(), whole);
}

#[test]
fn a_sample_is_decided_by_its_seed() {
    let sample = |seed, sample| {
        let recipe = VocabRecipe { size: 330, sample: Some(sample), seed, ..recipe() };
        recipe.train(&[fixture("toy.txt")]).unwrap()
    };
    assert_eq!(sample(1, 30), sample(1, 30));
    assert_ne!(sample(1, 30), sample(2, 30));
    assert_eq!(sample(1, 60), sample(2, 60), "all lines");
}

#[test]
fn nul_bytes_decomposed_letters_and_overlong_lines_in_the_training_text_do_no_harm() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("text");
    let text = toy_lines().join("\n").replace(' ', "\0").replace('ü', "u\u{308}");
    fs::write(&path, format!("{text}\n{}\n", "qx".repeat(5000))).unwrap();
    assert_eq!(recipe().train(&[path]).unwrap(), recipe().train(&[fixture("toy.txt")]).unwrap());
}

#[test]
fn a_text_too_small_for_the_size_is_refused_in_words() {
    let error = VocabRecipe { size: 8000, ..recipe() }.train(&[fixture("toy.txt")]).unwrap_err().to_string();
    assert!(error.contains("Vocabulary size too high (8000)"), "{error}");
    let error = VocabRecipe { character_coverage: 2.0, ..recipe() }.train(&[fixture("toy.txt")]).unwrap_err();
    assert!(matches!(error, TextError::Train { .. }), "{error}");
    let dir = tempfile::tempdir().unwrap();
    let empty = dir.path().join("empty");
    fs::write(&empty, "").unwrap();
    let error = recipe().train(&[empty]).unwrap_err().to_string();
    assert!(error.contains("no words"), "{error}");
}

#[test]
fn a_control_piece_that_would_break_the_options_is_refused() {
    for piece in ["", "a,b", "a\nvocab_size=300", "two words", "\""] {
        let recipe = VocabRecipe { control_symbols: vec![piece.to_owned()], ..recipe() };
        assert!(matches!(recipe.train(&[fixture("toy.txt")]).unwrap_err(), TextError::Train { .. }), "{piece:?}");
    }
}

#[test]
fn a_vocabulary_of_another_kind_encodes_but_has_no_dropout() {
    // The last model type in the file counts; this one says unigram.
    let unigram = Vocab::from_bytes(&[TOY.as_bytes(), &[0x12, 2, 0x18, 1]].concat()).unwrap();
    assert_eq!(unigram.decode(&unigram.encode("The cat")), "The cat");
    assert!(matches!(unigram.resegment(&[], 0.1, 1).unwrap_err(), TextError::NoDropout { .. }));
}

#[test]
fn a_size_mismatch_names_both_sizes_and_both_files() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("vocab.model");
    fs::write(&path, TOY.as_bytes()).unwrap();
    let vocab = Vocab::open(&path).unwrap();
    vocab.check_len(420, "model/config.json").unwrap();
    let error = vocab.check_len(520, "model/config.json").unwrap_err().to_string();
    for word in ["420", "520", "model/config.json", "vocab.model"] {
        assert!(error.contains(word), "{error}");
    }
    assert!(!error.contains('\n'));
}

#[test]
fn files_that_are_no_vocabulary_are_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("vocab.model");
    assert!(matches!(Vocab::open(&path).unwrap_err(), TextError::Open { .. }));
    let whole = TOY.as_bytes();
    let broken: [&[u8]; 5] = [b"", b"some text", &whole[..whole.len() / 2], &whole[..7], &[0xff; 64]];
    for bytes in broken {
        fs::write(&path, bytes).unwrap();
        let error = Vocab::open(&path).unwrap_err();
        assert!(matches!(error, TextError::NotAVocab { .. }), "{error}");
        assert!(error.to_string().contains("vocab.model"), "{error}");
    }
    for end in 0..whole.len() {
        assert!(Vocab::from_bytes(&whole[..end]).is_err(), "cut at {end}");
    }
}

#[test]
fn compatibility_characters_survive_identity_and_are_rewritten_by_nmt_nfkc() {
    let nmt = train(&VocabRecipe { normalization: Normalization::NmtNfkc, ..recipe() });
    let table = [
        ("10 m²", "10 m2"),
        ("…", "..."),
        ("½", "1⁄2"),
        ("x™", "xTM"),
        ("ﬁn", "fin"),
        ("№ 5", "No 5"),
        ("„Haus“", "„Haus“"),
        ("STRAẞE", "STRAẞE"),
        ("😀\u{fe0f}", "😀\u{fe0f}"),
        ("Schiff\u{ad}fahrt", "Schiff\u{ad}fahrt"),
    ];
    for (line, rewritten) in table {
        assert_eq!(nmt.decode(&nmt.encode(line)), rewritten);
        assert_eq!(TOY.decode(&TOY.encode(line)), line);
    }
}

#[test]
fn a_recipe_reads_back_from_its_file_and_refuses_unknown_fields() {
    let recipe = VocabRecipe { sample: Some(9), control_symbols: vec!["<2de>".to_owned()], ..recipe() };
    assert_eq!(toml::from_str::<VocabRecipe>(&toml::to_string(&recipe).unwrap()).unwrap(), recipe);
    assert_eq!(toml::from_str::<VocabRecipe>("").unwrap(), VocabRecipe::default());
    assert!(toml::from_str::<VocabRecipe>("sizes = 3").is_err());
    assert_eq!("nmt_nfkc".parse::<Normalization>().unwrap(), Normalization::NmtNfkc);
    let error = "nfd".parse::<Normalization>().unwrap_err().to_string();
    assert!(error.contains("nfd") && error.contains("identity, nfkc"), "{error}");
}
