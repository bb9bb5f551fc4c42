//! What users of scorers have run into: each report is a test.

#![expect(clippy::unwrap_used, reason = "a broken fixture is to stop the test")]

use umlaut_metrics::{
    Bleu, BleuScore, Chrf, Compounds, Corpus, Metric, MetricError, Score, Ter, Tokenizer, Warning, corpus_bleu,
};

const REFERENCES: [&str; 3] = [
    "Die Katze sitzt auf der Matte.",
    "Das Wetter ist heute sehr schön.",
    "Er kaufte ein Science-Fiction-Buch für 3,50 Euro.",
];

fn lines(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

fn bleu(hypotheses: &[&str]) -> BleuScore {
    corpus_bleu(&lines(hypotheses), &lines(&REFERENCES), Tokenizer::V13a).unwrap()
}

#[test]
fn an_empty_hypothesis_counts_with_length_0() {
    let score = bleu(&["", REFERENCES[1], REFERENCES[2]]);
    assert_eq!(format!("{:.2}", score.score), "62.71");
    assert_eq!((score.hypothesis_length, score.reference_length), (15, 22));
    assert_eq!(format!("{:.3}", score.brevity_penalty), "0.627");
    assert_eq!(format!("{:.2}", bleu(&["", "", ""]).score), "0.00");
}

#[test]
fn lines_out_of_order_lower_the_score() {
    assert_eq!(format!("{:.2}", bleu(&["", REFERENCES[0], REFERENCES[1]]).score), "2.21");
    assert_eq!(format!("{:.2}", bleu(&[REFERENCES[1], REFERENCES[0], REFERENCES[2]]).score), "39.42");
}

#[test]
fn unequal_line_counts_are_an_error_that_shows_both() {
    let refusal = corpus_bleu(&lines(&REFERENCES[..1]), &lines(&REFERENCES), Tokenizer::V13a).unwrap_err();
    assert_eq!(refusal, MetricError::ReferenceLines { hypotheses: 1, references: 3, stream: 1 });
    let full = vec!["x".to_owned(); 3003];
    let message = corpus_bleu(&full, &full[..2737], Tokenizer::V13a).unwrap_err().to_string();
    assert!(message.contains("3003") && message.contains("2737"), "{message}");
}

#[test]
fn a_byte_order_mark_does_not_cost_the_first_word() {
    let hypotheses = lines(&["\u{feff}Die Katze sitzt auf der Matte.", REFERENCES[1], REFERENCES[2]]);
    let references = lines(&REFERENCES);
    let corpus = Corpus::new(&hypotheses, &[&references]).unwrap();
    for metric in [Metric::Bleu(Bleu::default()), Metric::Chrf(Chrf::plus_plus())] {
        assert_eq!(format!("{:.1}", metric.score(&corpus).unwrap().score), "100.0");
    }
    assert_eq!(format!("{:.1}", Metric::Ter(Ter::default()).score(&corpus).unwrap().score), "0.0");
}

#[test]
fn compound_splitting_is_worth_what_the_literature_gains_by_it() {
    let hypotheses = lines(&["Er kaufte ein Science-Fiction-Heft für 3,50 Euro ."]);
    let references = lines(&["Er kaufte ein Science-Fiction-Buch für 3,50 Euro ."]);
    let corpus = Corpus::new(&hypotheses, &[&references]).unwrap();
    let whole = Bleu { tokenizer: Tokenizer::None, ..Bleu::default() };
    let split = Bleu { compounds: Compounds::Split, ..whole };
    assert_eq!(format!("{:.2}", whole.score(&corpus).score), "50.00");
    assert_eq!(format!("{:.2}", split.score(&corpus).score), "73.49");
    assert!(split.score(&corpus).to_string().contains("|tok:none|smooth:exp|compound:split|version:umlaut-"));
    // On raw text the split comes after the tokenizer, which would take the marks to pieces.
    let tokenised = Bleu { tokenizer: Tokenizer::V13a, ..split };
    assert_eq!(format!("{:.2}", tokenised.score(&corpus).score), "73.49");
}

#[test]
fn tokenised_text_and_leftover_subwords_raise_warnings() {
    let tokenised = vec!["Die Katze sitzt auf der Matte .".to_owned(); 100];
    let references = vec![REFERENCES[0].to_owned(); 100];
    let corpus = Corpus::new(&tokenised, &[&references]).unwrap();
    assert_eq!(format!("{:.0}", Bleu::default().score(&corpus).score), "100");
    assert_eq!(corpus.warnings(Tokenizer::V13a), [Warning::Tokenised { lines: 100 }]);

    let pieces = vec!["Die Kat@@ ze sitzt auf der Matte.".to_owned(); 100];
    let corpus = Corpus::new(&pieces, &[&references]).unwrap();
    assert!(Bleu::default().score(&corpus).score < 75.0);
    assert_eq!(corpus.warnings(Tokenizer::V13a), [Warning::Subwords { lines: 100 }]);
}

#[test]
fn a_line_too_long_for_ter_is_an_error_and_not_a_crash() {
    let long = vec!["kurz".to_owned(), "wort ".repeat(2_001)];
    let corpus = Corpus::new(&long, &[&long]).unwrap();
    let refusal = Metric::Ter(Ter::default()).score(&corpus).unwrap_err();
    assert_eq!(refusal, MetricError::TooLongForTer { line: 2, hypothesis: 2_001, reference: 2_001 });
    assert_eq!(format!("{:.0}", Metric::Chrf(Chrf::default()).score(&corpus).unwrap().score), "100");
}

#[test]
fn a_score_goes_into_json_with_its_signature() {
    let score = Score::from(bleu(&REFERENCES));
    let json = serde_json::to_value(&score).unwrap();
    assert_eq!(json["name"], "BLEU");
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(json["signature"], format!("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:umlaut-{version}"));
    assert!(json["verbose_score"].as_str().unwrap().starts_with("100.0/100.0/100.0/100.0 (BP = 1.000"));
    assert!(json.get("confidence").is_none());
}
