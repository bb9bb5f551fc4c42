//! Word splitting as Python's `str.split()` does it, which is what sacreBLEU counts words with.

/// Whether Python takes `character` for white space: Unicode's `White_Space` and the information separators
/// U+001C to U+001F, which Rust leaves out.
pub(crate) fn is_space(character: char) -> bool {
    character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character)
}

/// The words of `line`, as Python's `line.split()`.
pub(crate) fn split(line: &str) -> impl Iterator<Item = &str> {
    line.split(is_space).filter(|word| !word.is_empty())
}

/// `line` with U+001C to U+001F as plain spaces, for code that splits by Rust's definition. No tokenizer rule looks at
/// these characters, so nothing but the splitting changes.
pub(crate) fn plain_spaces(line: &str) -> String {
    line.chars().map(|c| if is_space(c) && !c.is_whitespace() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn information_separators_end_a_word_as_in_python() {
        let words: Vec<&str> = split("ein\u{1c}zwei\u{1f} drei\u{a0}vier\u{200b}fünf ").collect();
        assert_eq!(words, ["ein", "zwei", "drei", "vier\u{200b}fünf"]);
        assert_eq!(plain_spaces("a\u{1d}b\u{a0}c"), "a b\u{a0}c");
    }
}
