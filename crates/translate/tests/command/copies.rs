//! What the built-in model must copy: names, numbers, links and addresses, two hundred of them.

use crate::program::{program, run};

const NAMES: [&str; 50] = [
    "Tom",
    "Mary",
    "Paris",
    "Berlin",
    "London",
    "Hamburg",
    "Obama",
    "Merkel",
    "Google",
    "Microsoft",
    "Linux",
    "Debian",
    "Firefox",
    "Tokyo",
    "Boston",
    "Einstein",
    "Shakespeare",
    "Mozart",
    "Beethoven",
    "Amsterdam",
    "Madrid",
    "Toyota",
    "Siemens",
    "Volkswagen",
    "Apple",
    "Anna",
    "Peter",
    "Michael",
    "Johnson",
    "Williams",
    "Schneider",
    "Kowalski",
    "Nakamura",
    "Okonkwo",
    "Fernandez",
    "Larsen",
    "Petrova",
    "Rossi",
    "Dubois",
    "Novak",
    "Reykjavik",
    "Ljubljana",
    "Kathmandu",
    "Winnipeg",
    "Tesla",
    "Spotify",
    "Kubernetes",
    "Greta",
    "Zuckerberg",
    "Ronaldo",
];

const NAME_FRAMES: [&str; 5] = [
    "I spoke to {} yesterday.",
    "Have you ever heard of {}?",
    "This book is about {}.",
    "We were talking about {} all evening.",
    "She wrote a long article about {}.",
];

const NUMBER_FRAMES: [&str; 5] = [
    "The room number is {}.",
    "It costs {} euros.",
    "Please call {}.",
    "There were {} people in the city.",
    "The code is {}, not more and not less.",
];

const LINK_FRAMES: [&str; 5] = [
    "You can find more information at {}.",
    "Please visit {} today.",
    "The program can be downloaded from {}.",
    "See {} for details.",
    "I found it on {}.",
];

const ADDRESS_FRAMES: [&str; 5] = [
    "Please write to {}.",
    "My address is {}.",
    "Send your questions to {}.",
    "You can reach her at {}.",
    "If you need help, contact {}.",
];

/// Fifty that follow from their place, so that none is chosen to please.
fn numbers() -> Vec<String> {
    (0..50_u64).map(|i| (i * 7919 % 10_u64.pow(2 + (i % 5) as u32) + 10).to_string()).collect()
}

fn links() -> Vec<String> {
    let starts = ["https://www.", "http://", "https://", "www.", "https://docs."];
    let sites = ["example.com", "debian.org", "wikipedia.org", "umlaut-mt.de", "openstreetmap.org"];
    let paths = ["", "/help", "/en/index.html"];
    (0..50).map(|i| format!("{}{}{}", starts[i % 5], sites[i / 5 % 5], paths[i % 3])).collect()
}

fn addresses() -> Vec<String> {
    let users =
        ["info", "anna.schmidt", "john_doe", "support", "m.mueller77", "office", "sales-team", "tom", "press", "k.lee"];
    let domains = ["example.com", "uni-bonn.de", "mail.org", "company.co.uk", "debian.org"];
    (0..50).map(|i| format!("{}@{}", users[i % 10], domains[i / 10])).collect()
}

/// How many of `tokens` stand in the translations of the frames around them; those that do not are shown.
fn survivors(frames: &[&str], tokens: &[String]) -> usize {
    let lines: Vec<String> = tokens.iter().enumerate().map(|(i, token)| frames[i % 5].replace("{}", token)).collect();
    let output = run(program().arg("--quiet"), (lines.join("\n") + "\n").as_bytes()).ok();
    let survives = |(token, line): (&String, &str)| {
        let found = line.contains(token.as_str());
        if !found {
            println!("{token}: {line}");
        }
        found
    };
    tokens.iter().zip(output.lines()).map(survives).filter(|found| *found).count()
}

#[test]
fn names_numbers_links_and_addresses_survive() {
    let names = NAMES.map(str::to_owned);
    let found = [
        survivors(&NAME_FRAMES, &names),
        survivors(&NUMBER_FRAMES, &numbers()),
        survivors(&LINK_FRAMES, &links()),
        survivors(&ADDRESS_FRAMES, &addresses()),
    ];
    println!("of 50 each, names {}, numbers {}, links {}, addresses {}", found[0], found[1], found[2], found[3]);
    let floor = [46, 48, 48, 32];
    assert!(found.iter().zip(floor).all(|(found, floor)| *found >= floor), "{found:?}, not {floor:?}");
}

#[test]
fn a_line_in_capitals_is_answered_in_capitals() {
    let output = run(program().arg("--quiet"), b"WHERE IS MY SISTER?\nwhere is my sister?\n").ok();
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines[0], lines[1].to_uppercase());
}
