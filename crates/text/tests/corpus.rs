//! Files of lines, alone and in step.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    path::{Path, PathBuf},
    sync::LazyLock,
};
use tempfile::TempDir;
use umlaut_text::{
    TextError, Vocab,
    corpus::{
        Augment, Augmenter, BitextFiles, BitextReader, EmptySide, FilterReport, LineReader, PairFilter, Sentences,
        load_augmented, load_pairs,
    },
    vocab::VocabRecipe,
};

static TOY: LazyLock<Vocab> = LazyLock::new(|| {
    let text: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "fixtures", "toy.txt"].iter().collect();
    Vocab::from_bytes(&VocabRecipe { size: 420, ..VocabRecipe::default() }.train(&[text]).unwrap()).unwrap()
});

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    fn bitext(&self, src: &str, tgt: &str) -> BitextFiles {
        BitextFiles { src: self.write("text.en", src), tgt: self.write("text.de", tgt), names: None }
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn read(path: &Path) -> Result<Vec<String>, TextError> {
    let mut reader = LineReader::open(path)?;
    let mut lines = Vec::new();
    while let Some(line) = reader.next_line()? {
        lines.push(line.to_owned());
    }
    assert_eq!(reader.line(), lines.len() as u64);
    Ok(lines)
}

/// `count` lines that differ.
fn numbered(count: usize, word: &str) -> String {
    (0..count).flat_map(|i| [word.to_owned(), format!(" {i}\n")]).collect()
}

#[test]
fn plain_gzip_and_zstandard_files_read_alike_whatever_their_names() {
    let folder = Folder::new();
    let text = numbered(10_000, "line");
    let lines: Vec<&str> = text.lines().collect();
    let (head, tail) = text.as_bytes().split_at(4321);
    let zstd = |bytes| zstd::encode_all(bytes, 3).unwrap();
    let forms = [
        ("plain.gz", text.clone().into_bytes()),
        ("one-member", gzip(text.as_bytes())),
        ("two-members.gz", [gzip(head), gzip(tail)].concat()),
        ("one-frame.txt", zstd(text.as_bytes())),
        ("two-frames.zst", [zstd(head), zstd(tail)].concat()),
    ];
    for (name, bytes) in forms {
        assert_eq!(read(&folder.write(name, bytes)).unwrap(), lines, "{name}");
    }
}

#[test]
fn only_lf_ends_a_line() {
    let folder = Folder::new();
    let text = "a\u{2028}b\u{85}c\u{b}d\u{c}e\u{1c}f\u{2029}g\rh\n\ni";
    assert_eq!(
        read(&folder.write("text", text)).unwrap(),
        ["a\u{2028}b\u{85}c\u{b}d\u{c}e\u{1c}f\u{2029}g\rh", "", "i"]
    );
    let counts = [("", 0), ("\n", 1), ("a", 1), ("a\n", 1), ("a\n\n", 2), ("a\nb", 2), ("a\nb\n", 2), ("\n\n\n", 3)];
    for (text, count) in counts {
        assert_eq!(read(&folder.write("text", text)).unwrap().len(), count, "{text:?}");
    }
}

#[test]
fn cr_before_lf_and_a_byte_order_mark_at_the_beginning_are_dropped() {
    let folder = Folder::new();
    let path = folder.write("text", "\u{feff}Hello.\r\nBye.\r\n\u{feff}third\r");
    assert_eq!(read(&path).unwrap(), ["Hello.", "Bye.", "\u{feff}third"]);
    assert_eq!(read(&folder.write("text.gz", gzip("\u{feff}Hello.".as_bytes()))).unwrap(), ["Hello."]);
    assert_eq!(read(&folder.write("only-the-mark", "\u{feff}")).unwrap(), [""]);
}

#[test]
fn bad_utf8_is_named_by_file_and_line() {
    let folder = Folder::new();
    let error = read(&folder.write("latin1.de", b"gut\nsch\xf6n\n")).unwrap_err();
    assert!(matches!(error, TextError::NotUtf8 { line: 2, .. }));
    assert!(error.to_string().contains("latin1.de, line 2"), "{error}");
}

#[test]
fn a_truncated_archive_is_an_error_and_not_a_short_corpus() {
    let folder = Folder::new();
    let text = numbered(10_000, "line");
    for whole in [gzip(text.as_bytes()), zstd::encode_all(text.as_bytes(), 3).unwrap()] {
        let error = read(&folder.write("cut", &whole[..whole.len() - 9])).unwrap_err();
        assert!(matches!(error, TextError::Read { .. }), "{error:?}");
    }
    assert!(matches!(read(&folder.0.path().join("absent")).unwrap_err(), TextError::Open { .. }));
    assert!(read(folder.0.path()).is_err(), "a folder is no file");
}

#[test]
fn sgml_and_xml_test_sets_are_refused_by_name() {
    let folder = Folder::new();
    for head in ["<srcset setid=\"x\">", "\u{feff}<refset ", "<REFSET ", "  <tstset", "<?xml version=\"1.0\"?>"] {
        let error = read(&folder.write("newstest.sgm", format!("{head}\n<seg>Hi</seg>\n"))).unwrap_err();
        assert!(error.to_string().contains("newstest.sgm") && error.to_string().contains("SGML"), "{error}");
    }
    for fine in ["<b>bold</b>", "<s> a sentence </s>", "text\n<srcset\n"] {
        read(&folder.write("text", fine)).unwrap();
    }
}

#[test]
fn unequal_files_are_refused_with_their_full_counts() {
    let folder = Folder::new();
    for (src, tgt) in [(1000, 999), (3, 5000), (0, 1)] {
        let files = folder.bitext(&numbered(src, "a"), &numbered(tgt, "b"));
        let error = load_pairs(&[files], None, &PairFilter::default(), &TOY).unwrap_err().to_string();
        let wanted = [format!("text.en has {src}"), format!("text.de has {tgt}")];
        assert!(wanted.iter().all(|words| error.contains(words)), "{error}");
    }
    let names = Some(folder.write("text.src", numbered(7, "corpus")));
    let files = BitextFiles { names, ..folder.bitext(&numbered(9, "a"), &numbered(9, "b")) };
    let error = load_pairs(&[files], None, &PairFilter::default(), &TOY).unwrap_err().to_string();
    assert!(error.contains("text.src has 7") && error.contains("text.de has 9"), "{error}");
}

#[test]
fn pairs_are_read_in_step() {
    let folder = Folder::new();
    let mut reader = BitextReader::open(&folder.bitext("one\ntwo\n", "eins\nzwei")).unwrap();
    let pair = reader.next_pair().unwrap().unwrap();
    assert_eq!((pair.src, pair.tgt, pair.name), ("one", "eins", None));
    let pair = reader.next_pair().unwrap().unwrap();
    assert_eq!((pair.src, pair.tgt), ("two", "zwei"));
    assert!(reader.next_pair().unwrap().is_none());
}

#[test]
fn loaded_ids_are_those_of_each_line_in_the_order_of_the_files() {
    let folder = Folder::new();
    let (src, tgt) = (numbered(17_000, "The cat"), numbered(17_000, "Die Katze"));
    let one = BitextFiles { src: folder.write("1.en", &src), tgt: folder.write("1.de", &tgt), names: None };
    let two = BitextFiles { src: folder.write("2.en", "A dog"), tgt: folder.write("2.de", "Ein Hund\n"), names: None };
    let load = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| load_pairs(&[one.clone(), two.clone()], None, &PairFilter::default(), &TOY)).unwrap()
    };
    let (corpus, report) = load(1);
    assert_eq!(load(4), (corpus.clone(), report));
    assert_eq!((report.read, report.kept, corpus.len()), (17_001, 17_001, 17_001));
    for (pair, (src, tgt)) in src.lines().zip(tgt.lines()).enumerate().step_by(997) {
        assert_eq!(corpus.src.get(pair), TOY.encode(src));
        assert_eq!(corpus.tgt.get(pair), TOY.encode(tgt));
        assert_eq!(corpus.lengths()[pair], (TOY.encode(src).len(), TOY.encode(tgt).len()));
    }
    assert_eq!(corpus.tgt.get(17_000), TOY.encode("Ein Hund"));
}

#[test]
fn made_pairs_follow_theirs_and_count_as_made() {
    let folder = Folder::new();
    let files = folder.bitext("The cat.\nA dog.\n", "Die Katze.\nEin Hund.\n");
    let shares = Augment { lower: 1.0, joined: 1.0, ..Augment::default() };
    let filter = PairFilter { max_tokens: Some(TOY.encode("The cat. A dog.").len() - 1), ..PairFilter::default() };
    let (corpus, report) = load_augmented(&[files], None, &filter, Augmenter::new(shares, 1), &TOY).unwrap();
    let sides = |sentences: &Sentences| -> Vec<String> {
        (0..sentences.len()).map(|pair| TOY.decode(&sentences.get(pair))).collect()
    };
    assert_eq!(sides(&corpus.src), ["The cat.", "the cat.", "A dog.", "a dog."]);
    assert_eq!(sides(&corpus.tgt), ["Die Katze.", "Die Katze.", "Ein Hund.", "Ein Hund."]);
    assert_eq!(report.to_string(), "2 pairs read, 3 made of them, 4 kept, 1 too long");
}

#[test]
fn dropped_pairs_are_counted_by_reason() {
    let folder = Folder::new();
    let long = "cat ".repeat(100);
    let src = format!("The cat\n \nThe cat\n{long}\nThe\nA dog\n");
    let tgt = format!("Die Katze\nDie Katze\n\u{a0}\n{long}\nDie Katze sitzt auf der Matte und schläft\nEin Hund\n");
    let filter = PairFilter { max_tokens: Some(60), max_length_ratio: Some(4.0), ..PairFilter::default() };
    let files = folder.bitext(&src, &tgt);
    let (corpus, report) = load_pairs(std::slice::from_ref(&files), None, &filter, &TOY).unwrap();
    let expected = FilterReport { read: 6, made: 0, kept: 2, not_selected: 0, empty: 2, too_long: 1, ratio: 1 };
    assert_eq!(report, expected);
    assert_eq!(corpus.len(), 2);
    let words = "6 pairs read, 2 kept, 2 with a blank side, 1 too long, 1 of too different lengths";
    assert_eq!(report.to_string(), words);

    let everything = PairFilter { empty_side: EmptySide::Keep, ..PairFilter::default() };
    let (corpus, report) = load_pairs(&[files], None, &everything, &TOY).unwrap();
    assert_eq!((corpus.len(), report.kept), (6, 6));
    assert!(corpus.src.get(1).is_empty());
}

#[test]
fn selected_corpora_alone_are_kept() {
    let folder = Folder::new();
    let names = Some(folder.write("text.src.gz", gzip(b"news\nchat\nnews\nsubtitles\n")));
    let files = BitextFiles { names, ..folder.bitext("a\nb\nc\nd\n", "A\nB\nC\nD\n") };
    let selected: BTreeSet<String> = ["news", "chat"].map(str::to_owned).into();
    let load =
        |files: &BitextFiles| load_pairs(std::slice::from_ref(files), Some(&selected), &PairFilter::default(), &TOY);
    let (corpus, report) = load(&files).unwrap();
    assert_eq!((report.read, report.kept, report.not_selected), (4, 3, 1));
    assert_eq!(corpus.src.get(2), TOY.encode("c"));
    let error = load(&BitextFiles { names: None, ..files }).unwrap_err();
    assert!(matches!(error, TextError::NoNames { .. }), "{error}");
}
