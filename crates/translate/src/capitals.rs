//! Lines all in capitals.
//!
//! To a vocabulary of subwords they are other words, seldom seen and spelled in fragments. So such a line is translated in
//! lower case, which models are used to, and answered in capitals.

/// The line in lower case, if all its letters are capitals and it is more than a name: two words of two letters.
pub(crate) fn lowered(line: &str) -> Option<String> {
    let is_word = |word: &&str| word.chars().filter(|c| c.is_uppercase()).nth(1).is_some();
    let is_shouted = !line.contains(char::is_lowercase) && line.split_whitespace().filter(is_word).nth(1).is_some();
    is_shouted.then(|| line.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::lowered;

    #[test]
    fn sentences_in_capitals_are_lowered() {
        assert_eq!(lowered("WHERE ARE YOU, ÉMILE?").as_deref(), Some("where are you, émile?"));
    }

    #[test]
    fn all_else_stays() {
        for line in ["", "NASA", "NASA 2024!", "I", "A B C", "NASA and ESA", "Hello World", "123 456", "世界 你好"]
        {
            assert_eq!(lowered(line), None, "{line}");
        }
    }
}
