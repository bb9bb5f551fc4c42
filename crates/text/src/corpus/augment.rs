//! Pairs made of other pairs, so that a model meets what people type: capitals, no capitals, no full stop, several
//! sentences on a line, names that it has never seen.

use serde::{Deserialize, Serialize};

use super::made_up;
use crate::rng::{SplitMix64, mix};

/// Shares of the pairs that are seen once more in another shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Augment {
    /// With the source in lower case: whoever types no capitals still wants German nouns to have theirs.
    pub lower: f64,
    /// With both sides in upper case.
    pub upper: f64,
    /// Without the mark that ends both sides.
    pub unpunctuated: f64,
    /// Joined with the pair before it, where that ends in a mark on both sides.
    pub joined: f64,
    /// With a name or number that both sides share replaced by one that is made up, so that copying is learnt.
    pub copied: f64,
}

impl Augment {
    /// Whether every share lies in `[0, 1]`.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        let shares = [self.lower, self.upper, self.unpunctuated, self.joined, self.copied];
        shares.iter().all(|share| (0.0..=1.0).contains(share))
    }
}

/// Makes pairs of the pairs of one file after the other. What it makes depends on the seed, the file's place, and the
/// lines: not on threads.
#[derive(Clone, Debug)]
pub struct Augmenter {
    shares: Augment,
    seed: u64,
    file: u64,
    line: u64,
    previous: Option<(String, String)>,
}

impl Augmenter {
    /// Draws by `seed`.
    #[must_use]
    pub fn new(shares: Augment, seed: u64) -> Self {
        Self { shares, seed, file: 0, line: 0, previous: None }
    }

    /// A new file begins: its first pair has none before it.
    pub(super) fn begin_file(&mut self) {
        (self.file, self.line, self.previous) = (self.file + 1, 0, None);
    }

    /// The pairs made of the next one.
    pub(super) fn made(&mut self, src: &str, tgt: &str) -> Vec<(String, String)> {
        self.line += 1;
        let mut random = SplitMix64::new(mix(&[self.seed, self.file, self.line]));
        let mut drawn = |share: f64| random.next_f64() < share;
        let shares = self.shares;
        let [lower, upper, bare, joined, copied] =
            [shares.lower, shares.upper, shares.unpunctuated, shares.joined, shares.copied].map(&mut drawn);
        let mut made = Vec::new();
        if lower {
            made.push((src.to_lowercase(), tgt.to_owned()));
        }
        if upper {
            made.push((src.to_uppercase(), tgt.to_uppercase()));
        }
        if let (true, Some(src), Some(tgt)) = (bare, without_mark(src), without_mark(tgt)) {
            made.push((src.to_owned(), tgt.to_owned()));
        }
        if let (true, Some((first_src, first_tgt))) = (joined, self.previous.take()) {
            made.push((format!("{first_src} {src}"), format!("{first_tgt} {tgt}")));
        }
        if copied {
            made.extend(made_up::with_another_word(src, tgt, &mut random));
        }
        let ends = without_mark(src).is_some() && without_mark(tgt).is_some();
        self.previous = (shares.joined > 0.0 && ends).then(|| (src.to_owned(), tgt.to_owned()));
        made
    }
}

/// A sentence without the mark that ends it; `None` when there is none, or nothing before it.
fn without_mark(sentence: &str) -> Option<&str> {
    sentence.strip_suffix(['.', '!', '?']).filter(|rest| !rest.is_empty() && !rest.ends_with(['.', '!', '?']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(shares: Augment, pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        let mut augmenter = Augmenter::new(shares, 1);
        augmenter.begin_file();
        pairs.iter().flat_map(|(src, tgt)| augmenter.made(src, tgt)).collect()
    }

    fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(src, tgt)| ((*src).to_owned(), (*tgt).to_owned())).collect()
    }

    #[test]
    fn each_shape_is_what_its_name_says() {
        let pair = [("The Straße.", "Die Straße.")];
        let all = Augment { lower: 1.0, upper: 1.0, unpunctuated: 1.0, joined: 1.0, copied: 0.0 };
        let shapes = [("the straße.", "Die Straße."), ("THE STRASSE.", "DIE STRASSE."), ("The Straße", "Die Straße")];
        assert_eq!(made(all, &pair), owned(&shapes));
        assert!(made(Augment::default(), &pair).is_empty());
    }

    #[test]
    fn neighbours_are_joined_where_the_first_one_ends() {
        let joined = Augment { joined: 1.0, ..Augment::default() };
        let pairs = [("One.", "Eins."), ("Two", "Zwei"), ("Three!", "Drei!"), ("Wait...", "Warte..."), ("Go.", "Los.")];
        let expected = [("One. Two", "Eins. Zwei"), ("Three! Wait...", "Drei! Warte...")];
        assert_eq!(made(joined, &pairs), owned(&expected));
    }

    #[test]
    fn the_last_line_of_a_file_is_not_joined_with_the_first_of_the_next() {
        let mut augmenter = Augmenter::new(Augment { joined: 1.0, ..Augment::default() }, 1);
        augmenter.begin_file();
        assert!(augmenter.made("One.", "Eins.").is_empty());
        augmenter.begin_file();
        assert!(augmenter.made("Two.", "Zwei.").is_empty());
        assert_eq!(augmenter.made("Three.", "Drei."), owned(&[("Two. Three.", "Zwei. Drei.")]));
    }

    #[test]
    fn a_lone_mark_is_no_sentence_to_shorten() {
        let bare = Augment { unpunctuated: 1.0, ..Augment::default() };
        assert!(made(bare, &[("?", "?"), ("Really?!", "Wirklich?!"), ("Yes", "Ja.")]).is_empty());
    }

    #[test]
    fn a_share_is_drawn_by_seed_file_and_line() {
        let shares = Augment { lower: 0.2, ..Augment::default() };
        let drawn = |seed: u64, file: usize| -> Vec<bool> {
            let mut augmenter = Augmenter::new(shares, seed);
            (0..file).for_each(|_| augmenter.begin_file());
            (0..2000).map(|_| !augmenter.made("A", "B").is_empty()).collect()
        };
        let count = drawn(1, 1).iter().filter(|drawn| **drawn).count();
        assert!((340..460).contains(&count), "{count} of 2000 at a share of 0.2");
        assert_eq!(drawn(1, 1), drawn(1, 1));
        assert!(drawn(1, 1) != drawn(2, 1) && drawn(1, 1) != drawn(1, 2));
    }
}
