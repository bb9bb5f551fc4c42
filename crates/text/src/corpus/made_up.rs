//! Names, numbers, links and addresses that nobody has seen: what a translation must copy, letter by letter.

use crate::rng::SplitMix64;

const ONSETS: [&str; 20] =
    ["b", "br", "d", "f", "g", "h", "j", "k", "kl", "l", "m", "n", "p", "r", "s", "sch", "st", "t", "v", "z"];
const VOWELS: [&str; 8] = ["a", "e", "i", "o", "u", "ei", "au", "y"];
const CODAS: [&str; 8] = ["", "", "", "n", "r", "l", "s", "ck"];
const DOMAINS: [&str; 6] = ["com", "de", "org", "net", "eu", "io"];

/// The pair with one word that both sides share, a name or a number, replaced on both by one that is made up. `None`
/// where no word stands exactly once on each side.
pub(super) fn with_another_word(src: &str, tgt: &str, random: &mut SplitMix64) -> Option<(String, String)> {
    let count = |text: &str, word: &str| text.split(' ').filter(|other| core(other) == word).count();
    let is_shared = |word: &&str| count(src, word) == 1 && count(tgt, word) == 1;
    let shared: Vec<&str> =
        src.split(' ').map(core).filter(|word| is_number(word) || is_name(word)).filter(is_shared).collect();
    let word = *shared.get(random.below(shared.len().max(1) as u64) as usize)?;
    let new = if is_number(word) { number(random) } else { proper(src, random) };
    let replaced = |text: &str| {
        let words =
            text.split(' ').map(|other| if core(other) == word { other.replacen(word, &new, 1) } else { other.into() });
        words.collect::<Vec<String>>().join(" ")
    };
    Some((replaced(src), replaced(tgt)))
}

/// A word without the marks around it.
fn core(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

fn is_number(word: &str) -> bool {
    (2..=6).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_name(word: &str) -> bool {
    word.chars().count() >= 3 && word.chars().all(char::is_alphabetic) && word.starts_with(char::is_uppercase)
}

fn number(random: &mut SplitMix64) -> String {
    let digits = 2 + random.below(5);
    let first = 1 + random.below(9);
    std::iter::once(first).chain((1..digits).map(|_| random.below(10))).map(|digit| digit.to_string()).collect()
}

/// What can stand in a name's place: mostly another name.
fn proper(text: &str, random: &mut SplitMix64) -> String {
    match random.below(10) {
        0..=4 => capitalised(&syllables(random)),
        5 => format!("{} {}", capitalised(&syllables(random)), capitalised(&syllables(random))),
        6 => format!("{}-{}", capitalised(&syllables(random)), number(random)),
        7 => link(text, random),
        _ => address(text, random),
    }
}

fn link(text: &str, random: &mut SplitMix64) -> String {
    let scheme = ["https://", "http://", "https://www.", "www."][random.below(4) as usize];
    let path = match random.below(3) {
        0 => String::new(),
        1 => format!("/{}", part(text, random)),
        _ => format!("/{}/{}.html", part(text, random), number(random)),
    };
    format!("{scheme}{}{path}", domain(text, random))
}

fn address(text: &str, random: &mut SplitMix64) -> String {
    let user = match random.below(4) {
        0 => part(text, random),
        1 => format!("{}.{}", part(text, random), part(text, random)),
        2 => format!("{}-{}", part(text, random), part(text, random)),
        _ => format!("{}{}", part(text, random), number(random)),
    };
    format!("{user}@{}", domain(text, random))
}

fn domain(text: &str, random: &mut SplitMix64) -> String {
    format!("{}.{}", part(text, random), one_of(&DOMAINS, random))
}

/// Part of a link or an address: made up, or a word of the text, which means nothing there and must not be translated.
fn part(text: &str, random: &mut SplitMix64) -> String {
    let is_plain = |word: &&str| word.len() >= 3 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let words: Vec<&str> = text.split(' ').map(core).filter(is_plain).collect();
    if words.is_empty() || random.below(3) == 0 {
        return syllables(random);
    }
    words[random.below(words.len() as u64) as usize].to_lowercase()
}

/// Two to four.
fn syllables(random: &mut SplitMix64) -> String {
    let count = 2 + random.below(3);
    (0..count).flat_map(|_| [one_of(&ONSETS, random), one_of(&VOWELS, random), one_of(&CODAS, random)]).collect()
}

fn capitalised(name: &str) -> String {
    name[..1].to_uppercase() + &name[1..]
}

fn one_of(choices: &[&'static str], random: &mut SplitMix64) -> &'static str {
    choices[random.below(choices.len() as u64) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_word_becomes_the_same_new_one_on_both_sides() {
        for seed in 0..200 {
            let random = &mut SplitMix64::new(seed);
            let (src, tgt) =
                with_another_word("(I) saw Tomson, today.", "Ich sah Tomson heute.", random).expect("a name");
            let new =
                src.strip_prefix("(I) saw ").and_then(|rest| rest.strip_suffix(", today.")).expect("in its place");
            assert_ne!(new, "Tomson");
            assert_eq!(tgt, format!("Ich sah {new} heute."));
        }
    }

    #[test]
    fn a_number_becomes_a_number() {
        let random = &mut SplitMix64::new(1);
        let (src, tgt) = with_another_word("In 1984 it rained.", "1984 regnete es.", random).expect("a number");
        let new = src.split(' ').nth(1).expect("the second word");
        assert!(new != "1984" && new.bytes().all(|byte| byte.is_ascii_digit()), "{src}");
        assert_eq!(tgt, format!("{new} regnete es."));
    }

    #[test]
    fn what_is_not_shared_exactly_once_stays() {
        for (src, tgt) in [("Tom saw Tom.", "Tom sah Tom."), ("The house", "Das Haus"), ("", ""), ("Anna's", "Annas")] {
            assert_eq!(with_another_word(src, tgt, &mut SplitMix64::new(1)), None, "{src}");
        }
    }
}
