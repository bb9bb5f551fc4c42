//! Normalisation before everything else: Unicode NFC, and one kind of space.
//!
//! The table of what that loses is with [`normalise`]; a test holds it.

use std::borrow::Cow;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// The line in Unicode NFC with one kind of space.
///
/// Whatever a vocabulary's own rule does comes after this one. What is lost, and no more than that:
///
/// | in | out | why |
/// |---|---|---|
/// | decomposed letters (`U` + U+0308) | composed (U+00DC) | one spelling for one word |
/// | canonical singletons (U+212B ångström sign) | their letter (U+00C5) | NFC |
/// | tab, VT, FF, CR, U+001C-U+001F, U+0085, U+2028, U+2029, no-break and other spaces | one space | inside a line they separate words |
/// | NUL and the other control characters | one space | a word never continues across one |
/// | runs of spaces, spaces at either end | one space, none | SentencePiece drops them as well |
/// | U+2581 `▁` | one space | SentencePiece's own mark for a space |
/// | U+200B zero-width space, U+FEFF byte-order mark | nothing | invisible, and would split words |
/// | U+2047 `⁇` | `??` | SentencePiece prints it for an unknown piece: a reader could not tell them apart |
///
/// Compatibility characters (`½`, `™`, `…`, `m²`, ligatures), German quotes, soft hyphens, joiners and emoji stay.
///
/// Idempotent. Never longer than three times its input, and borrowed when there is nothing to do.
#[must_use]
pub fn normalise(line: &str) -> Cow<'_, str> {
    if is_tidy(line) {
        return Cow::Borrowed(line);
    }
    let mut tidy = String::with_capacity(line.len());
    let mut space_due = false;
    for c in line.chars().flat_map(replacement).nfc() {
        if c == ' ' {
            space_due = !tidy.is_empty();
            continue;
        }
        if space_due {
            tidy.push(' ');
            space_due = false;
        }
        tidy.push(c);
    }
    Cow::Owned(tidy)
}

/// Whether nothing is left of the line once it is normalised.
#[must_use]
pub fn is_blank(line: &str) -> bool {
    line.chars().flat_map(replacement).all(|c| c == ' ')
}

/// Whether [`normalise`] would change nothing. May say no of a tidy line, never yes of another.
fn is_tidy(line: &str) -> bool {
    let bytes = line.as_bytes();
    let spaced = bytes.first() == Some(&b' ') || bytes.last() == Some(&b' ') || line.contains("  ");
    if spaced || bytes.iter().any(|&b| b < b' ' || b == 0x7f) {
        return false;
    }
    line.is_ascii() || (line.chars().all(|c| replacement(c).eq([c])) && is_nfc_quick(line.chars()) == IsNormalized::Yes)
}

/// What stands for `c` before composition.
fn replacement(c: char) -> impl Iterator<Item = char> {
    let (first, second) = match c {
        '\u{200B}' | '\u{FEFF}' => (None, None),
        '\u{2047}' => (Some('?'), Some('?')),
        '\u{2581}' => (Some(' '), None),
        c if c.is_whitespace() || c.is_control() => (Some(' '), None),
        c => (Some(c), None),
    };
    first.into_iter().chain(second)
}
