//! Lines too long for one sentence.
//!
//! A model has seen no sentence of thousands of tokens; what it makes of one is worse than what it makes of its parts.

use umlaut_search::TokenId;

/// The tokens of `line` in pieces of at most `max_len` tokens: one piece for an ordinary line, none for a blank one.
///
/// A longer line is cut in two near its middle, and its halves likewise: after the end of a sentence if there is one in
/// the middle half, else at a space, else between two characters. (Characters that are themselves more than `max_len`
/// tokens stay whole.)
pub(crate) fn pieces(line: &str, max_len: usize, encode: &impl Fn(&str) -> Vec<TokenId>) -> Vec<Vec<TokenId>> {
    let tokens = encode(line);
    if tokens.is_empty() {
        return Vec::new();
    }
    match cut(line).filter(|_| tokens.len() > max_len) {
        None => vec![tokens],
        Some(middle) => {
            let (left, right) = line.split_at(middle);
            let mut parts = pieces(left, max_len, encode);
            parts.extend(pieces(right, max_len, encode));
            parts
        }
    }
}

/// The byte at which to cut, neither the first nor the end; `None` for a single character.
fn cut(line: &str) -> Option<usize> {
    let middle = line.len() / 2;
    let nearest = |places: &mut dyn Iterator<Item = usize>| places.min_by_key(|&place| place.abs_diff(middle));
    let in_middle_half = |place: &usize| place.abs_diff(middle) <= line.len() / 4;
    let characters = || line.char_indices().skip(1).map(|(place, _)| place);
    nearest(&mut sentence_ends(line).filter(in_middle_half))
        .or_else(|| nearest(&mut characters().filter(|&place| line[place..].starts_with(char::is_whitespace))))
        .or_else(|| nearest(&mut characters()))
}

/// The places just after a mark that can end a sentence and before a space.
fn sentence_ends(line: &str) -> impl Iterator<Item = usize> {
    const MARKS: [char; 7] = ['.', '!', '?', ';', ':', '\u{3002}', '\u{2026}'];
    line.match_indices(MARKS)
        .map(|(place, mark)| place + mark.len())
        .filter(|&place| line[place..].starts_with(char::is_whitespace))
}

#[cfg(test)]
mod tests {
    use super::pieces;
    use umlaut_search::TokenId;

    /// One token for each character that is no space.
    fn encode(line: &str) -> Vec<TokenId> {
        line.chars().filter(|c| !c.is_whitespace()).map(|c| TokenId(u32::from(c))).collect()
    }

    fn cut(line: &str, max_len: usize) -> Vec<String> {
        let text = |tokens: Vec<TokenId>| tokens.into_iter().filter_map(|token| char::from_u32(token.0)).collect();
        pieces(line, max_len, &encode).into_iter().map(text).collect()
    }

    #[test]
    fn an_ordinary_line_is_one_piece_and_a_blank_one_none() {
        assert_eq!(cut("A dog. A cat.", 10), ["Adog.Acat."]);
        assert!(cut(" \u{3000}\t", 10).is_empty());
    }

    #[test]
    fn a_long_line_is_cut_after_a_sentence() {
        assert_eq!(cut("The dog runs. A cat sits on it.", 14), ["Thedogruns.", "Acatsitsonit."]);
    }

    #[test]
    fn without_sentences_it_is_cut_at_a_space_and_without_spaces_anywhere() {
        assert_eq!(cut("eins zwei drei", 8), ["einszwei", "drei"]);
        assert_eq!(cut("äöüß", 3), ["äö", "üß"]);
    }

    #[test]
    fn nothing_is_lost_and_no_piece_is_too_long() {
        let line = "Dies ist ein Satz. Und noch einer! Dann ein sehrlangeswortohneende ohne Punkt ".repeat(20);
        for max_len in 1..80 {
            let pieces = pieces(&line, max_len, &encode);
            assert!(pieces.iter().all(|piece| (1..=max_len).contains(&piece.len())), "{max_len}");
            assert_eq!(pieces.concat(), encode(&line));
        }
    }
}
