//! Archives of the layout of WMT 2014 in miniature, a description of them, and the program in a fresh folder.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use sha2::{Digest, Sha256};

use crate::server::Server;

/// The archives by name.
pub(crate) const EUROPARL: &str = "training-parallel-europarl-v7.tgz";
pub(crate) const CRAWL: &str = "training-parallel-commoncrawl.tgz";
pub(crate) const DEV: &str = "dev.tgz";
/// Pairs of each training corpus.
pub(crate) const PAIRS: usize = 600;

/// A server with the archives, a recipe named `toy`, and folders to prepare it in.
pub(crate) struct Kitchen {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) server: Server,
    pub(crate) archives: BTreeMap<&'static str, Vec<u8>>,
}

impl Kitchen {
    pub(crate) fn new() -> Self {
        let (dir, server) = (tempfile::tempdir().unwrap(), Server::start());
        let archives = BTreeMap::from([(EUROPARL, europarl()), (CRAWL, crawl()), (DEV, dev())]);
        for (name, bytes) in &archives {
            server.put(name, bytes, Some("first"));
        }
        let kitchen = Self { dir, server, archives };
        fs::create_dir(kitchen.dir.path().join("toy")).unwrap();
        kitchen.describe(&kitchen.description());
        kitchen
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A description with sizes and checksums.
    pub(crate) fn description(&self) -> String {
        let mut text = "src_lang = 'en'\ntgt_lang = 'de'\nshard_pairs = 500\n".to_owned();
        for (name, bytes) in &self.archives {
            let (address, sum) = (self.server.address(), sum(bytes));
            text += &format!("[[archives]]\nfile = '{name}'\nurls = ['{address}/wmt/{name}']\n");
            text += &format!("bytes = {}\nsha256 = '{sum}'\n", bytes.len());
        }
        text += &format!(
            "[[train]]\nname = 'europarl'\narchive = '{EUROPARL}'\nsrc = 'training/europarl-v7.de-en.en'\ntgt = \
             'training/europarl-v7.de-en.de'\n[[train]]\nname = 'crawl'\narchive = '{CRAWL}'\nsrc = \
             'commoncrawl.de-en.en'\ntgt = 'commoncrawl.de-en.de'\n[[evaluation]]\nname = 'valid'\narchive = \
             '{DEV}'\nlines = 3\nsrc = {{ member = 'dev/news13.en' }}\ntgt = {{ member = 'dev/news13.de' \
             }}\n[[evaluation]]\nname = 'test'\narchive = '{DEV}'\nformat = 'sgml'\nlines = 2\nsrc = {{ member = \
             'dev/news14-ref.en.sgm' }}\ntgt = {{ member = 'dev/news14-src.de.sgm' }}\n[vocab]\nsize = \
             400\n[filter]\nmax_tokens = 250\nmax_length_ratio = 4.0\n"
        );
        text
    }

    pub(crate) fn describe(&self, text: &str) {
        fs::write(self.path("toy/data.toml"), text).unwrap();
    }

    pub(crate) fn command(&self, data: &str, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_umlaut"));
        command.args(["prepare", "toy", "--data", data]).args(args).current_dir(self.dir.path()).stdin(Stdio::null());
        command
    }

    /// Prepares the recipe in `data`; what was said on standard error.
    pub(crate) fn prepare(&self, data: &str, args: &[&str]) -> String {
        let output = self.command(data, args).output().unwrap();
        let said = text(&output);
        assert!(output.status.success(), "{said}");
        said
    }

    /// Fails to; why.
    pub(crate) fn fail(&self, data: &str, args: &[&str]) -> String {
        let output = self.command(data, args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        text(&output)
    }

    /// Everything that was prepared in `data`, byte for byte.
    pub(crate) fn result(&self, data: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        collect(&self.path(data).join("toy"), Path::new(""), &mut found);
        found
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn collect(root: &Path, below: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(root.join(below)).unwrap() {
        let entry = entry.unwrap();
        let path = below.join(entry.file_name());
        if entry.path().is_dir() {
            collect(root, &path, found);
        } else {
            found.insert(path, fs::read(entry.path()).unwrap());
        }
    }
}

pub(crate) fn sum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Says where two results differ.
pub(crate) fn assert_same(found: &BTreeMap<PathBuf, Vec<u8>>, expected: &BTreeMap<PathBuf, Vec<u8>>) {
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (path, bytes) in found {
        assert!(*bytes == expected[path], "{} differs", path.display());
    }
}

pub(crate) fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, *bytes).unwrap();
    }
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&tar.into_inner().unwrap()).unwrap();
    gzip.finish().unwrap()
}

/// Lines of words that differ enough for an archive of some size.
pub(crate) fn lines(seed: u64, words: [&str; 8], count: usize) -> String {
    let mut random = umlaut_text::rng::SplitMix64::new(seed);
    let mut line = || {
        let length = 3 + random.below(9);
        let words = (0..length).map(|_| format!("{}{}", words[random.below(8) as usize], random.below(90)));
        words.collect::<Vec<_>>().join(" ") + ".\n"
    };
    (0..count).map(|_| line()).collect()
}

const EN: [&str; 8] = ["house", "tree", "river", "light", "bread", "stone", "letter", "winter"];
const DE: [&str; 8] = ["Haus", "Baum", "Fluß", "Licht", "Brot", "Stein", "Brief", "Winter"];

fn europarl() -> Vec<u8> {
    let (en, de) = (lines(1, EN, PAIRS), lines(1, DE, PAIRS));
    let other = "Zut.\n".repeat(500);
    archive(&[
        ("training/europarl-v7.fr-en.en", other.as_bytes()),
        ("training/europarl-v7.de-en.de", de.as_bytes()),
        ("training/europarl-v7.fr-en.fr", other.as_bytes()),
        ("training/europarl-v7.de-en.en", en.as_bytes()),
    ])
}

/// With a pair that has a blank side, one in another encoding, one far too long, and one of too different lengths.
fn crawl() -> Vec<u8> {
    let mut en = lines(2, EN, PAIRS - 4).into_bytes();
    let mut de = lines(2, DE, PAIRS - 4).into_bytes();
    en.extend(b"\xe4 house.\nNothing beside it.\n");
    de.extend("Ein Haus.\n \u{200b}\n".as_bytes());
    en.extend(format!("{}\nHouse.\n", "stone ".repeat(3000)).as_bytes());
    de.extend(format!("Stein.\n{}\n", "Haus Baum Fluß Licht Brot ".repeat(20)).as_bytes());
    archive(&[
        ("./commoncrawl.de-en.annotation", b"x\n"),
        ("./commoncrawl.de-en.de", &de),
        ("./commoncrawl.de-en.en", &en),
    ])
}

fn dev() -> Vec<u8> {
    archive(&[
        ("dev/news13.de", "Eins.\nZwei &amp; zwei.\n\u{a0}Drei.\n".as_bytes()),
        ("dev/news13.en", b"One.\r\nTwo &amp; two.\nThree.\n"),
        ("dev/news14-ref.en.sgm", &sgml("refset", ["R&amp;D is &quot;good&quot;.", "Second  line. "])),
        ("dev/news14-src.de.sgm", &sgml("srcset", ["F&amp;E ist &quot;gut&quot;.", "Zweite Zeile."])),
    ])
}

pub(crate) fn sgml(kind: &str, texts: [&str; 2]) -> Vec<u8> {
    let [first, second] = texts;
    format!(
        "<{kind} setid=\"newstest2014\" srclang=\"any\">\n<doc sysid=\"ref\" docid=\"a\">\n<p>\n<seg \
         id=\"1\">{first}</seg>\n</p>\n</doc>\n<doc docid=\"b\" sysid=\"ref\">\n<p>\n<seg \
         id=\"1\">{second}</seg>\n</p>\n</doc>\n</{kind}>\n"
    )
    .into_bytes()
}
