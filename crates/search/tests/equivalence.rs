//! Two roads, one answer: the search against its plain definition, against enumeration, and against itself in other
//! company.

mod reference;
mod toy;

use reference::{enumerate, plain_search};
use toy::{BOS, EOS, Random, Toy, ToyDecoder, mix};
use umlaut_search::{BeamOptions, Ended, Hypothesis, LengthPenalty, TokenId, beam_search};

const PENALTIES: [LengthPenalty; 6] = [
    LengthPenalty::Length { alpha: 0.0 },
    LengthPenalty::Length { alpha: 0.6 },
    LengthPenalty::Length { alpha: 1.0 },
    LengthPenalty::Length { alpha: 2.5 },
    LengthPenalty::Gnmt { alpha: 0.6 },
    LengthPenalty::Gnmt { alpha: 1.0 },
];

fn search(toy: &dyn Toy, sources: &[u64], limits: &[usize], options: &BeamOptions) -> Vec<Vec<Hypothesis>> {
    beam_search(&mut ToyDecoder::new(toy, sources), limits, options).expect("a toy never fails")
}

fn options(width: usize, n_best: usize, length_penalty: LengthPenalty) -> BeamOptions {
    BeamOptions { width, n_best, length_penalty, ..BeamOptions::new(BOS, EOS) }
}

/// Seeded settings of every kind for a sweep.
fn random_case(seed: u64) -> (Random, BeamOptions, usize) {
    let draw = |what: u64, below: u64| (mix(mix(seed) ^ what) % below) as usize;
    let toy = Random { seed, vocab: 4 + draw(1, 5), peak: [0.0, 0.5, 2.0, 6.0][draw(2, 4)] };
    let width = 1 + draw(3, 7);
    let forbidden = if draw(4, 2) == 0 { vec![BOS] } else { vec![BOS, TokenId(2)] };
    let settings = BeamOptions {
        min_len: draw(5, 3),
        forbidden,
        ..options(width, 1 + draw(6, width as u64), PENALTIES[draw(7, 6)])
    };
    (toy, settings, 1 + draw(8, 9))
}

#[test]
fn stopping_early_changes_nothing() {
    for seed in 0..3000 {
        let (toy, options, limit) = random_case(seed);
        assert_eq!(
            search(&toy, &[seed], &[limit], &options)[0],
            plain_search(&toy, seed, limit, &options),
            "seed {seed}, limit {limit}, {options:?}"
        );
    }
}

#[test]
fn a_beam_that_holds_everything_is_enumeration() {
    for seed in 0..40 {
        for length_penalty in PENALTIES {
            let toy = Random { seed, vocab: 4, peak: 2.0 };
            let options = options(200, 200, length_penalty);
            let limit = 1 + seed as usize % 5;
            assert_eq!(search(&toy, &[seed], &[limit], &options)[0], enumerate(&toy, seed, limit, &options));
        }
    }
}

/// Follows one path with probability 0.97 a token and ends it after a length of its own.
fn peaky(source: u64, prefix: &[TokenId]) -> Vec<f32> {
    let vocab = 5;
    let length = 1 + (source % 4) as usize;
    let likely = if prefix.len() >= length { 1 } else { 2 + (mix(source ^ prefix.len() as u64) % 3) as usize };
    (0..vocab).map(|id| if id == likely { 0.97f32.ln() } else { (0.03f32 / (vocab - 1) as f32).ln() }).collect()
}

#[test]
fn on_peaky_models_every_width_finds_the_best_of_all() {
    for source in 0..40 {
        for length_penalty in PENALTIES {
            let best = enumerate(&peaky, source, 6, &options(1, 1, length_penalty));
            for width in 1..=8 {
                let found = search(&peaky, &[source], &[6], &options(width, 1, length_penalty));
                assert_eq!(found[0], best, "source {source}, width {width}, {length_penalty:?}");
            }
        }
    }
}

#[test]
fn a_batch_is_its_sentences_one_by_one() {
    for seed in 0..300 {
        let (toy, options, _) = random_case(seed);
        let sources: Vec<u64> = (0..=mix(seed) % 9).map(|place| mix(seed ^ place) % 1000).collect();
        let limits: Vec<usize> = sources.iter().map(|source| 1 + (source % 8) as usize).collect();
        let together = search(&toy, &sources, &limits, &options);
        for ((source, limit), hypotheses) in sources.iter().zip(&limits).zip(&together) {
            assert_eq!(hypotheses, &search(&toy, &[*source], &[*limit], &options)[0], "seed {seed}");
        }
    }
}

#[test]
fn n_best_changes_only_how_many_are_seen() {
    for seed in 0..500 {
        let (toy, options, limit) = random_case(seed);
        let all = search(&toy, &[seed], &[limit], &BeamOptions { n_best: options.width, ..options.clone() });
        for n_best in 1..=options.width {
            let some = search(&toy, &[seed], &[limit], &BeamOptions { n_best, ..options.clone() });
            assert_eq!(some[0], all[0][..n_best.min(all[0].len())], "seed {seed}, {n_best} best");
        }
    }
}

#[test]
fn width_one_takes_the_most_probable_token_each_time() {
    for seed in 0..200 {
        let toy = Random { seed, vocab: 6, peak: 3.0 };
        let mut greedy = Vec::new();
        let mut ended = Ended::Limit;
        while greedy.len() < 12 && ended == Ended::Limit {
            let log_probs = toy.log_probs(seed, &greedy);
            let first = if greedy.is_empty() { 2 } else { 1 };
            let best = (first..6).max_by(|&a, &b| log_probs[a].total_cmp(&log_probs[b]).then(b.cmp(&a))).unwrap();
            if best == 1 {
                ended = Ended::Eos;
            } else {
                greedy.push(TokenId(best as u32));
            }
        }
        let found = &search(&toy, &[seed], &[12], &options(1, 1, LengthPenalty::default()))[0][0];
        assert_eq!((&found.tokens, found.ended), (&greedy, ended), "seed {seed}");
    }
}

#[test]
fn a_larger_alpha_never_makes_a_translation_shorter() {
    for seed in 0..300 {
        let toy = Random { seed, vocab: 6, peak: 2.0 };
        let length = |alpha| {
            let best = &search(&toy, &[seed], &[10], &options(4, 1, LengthPenalty::Length { alpha }))[0][0];
            (best.ended == Ended::Eos).then_some(best.tokens.len())
        };
        let lengths: Vec<_> = [0.0, 0.6, 1.0, 1.5].into_iter().filter_map(length).collect();
        assert!(lengths.is_sorted(), "seed {seed}: {lengths:?}");
    }
}

#[test]
fn lists_hold_distinct_hypotheses_best_first() {
    for seed in 0..500 {
        let (toy, options, limit) = random_case(seed);
        let hypotheses = &search(&toy, &[seed], &[limit], &options)[0];
        assert!((1..=options.n_best).contains(&hypotheses.len()), "seed {seed}");
        for (place, hypothesis) in hypotheses.iter().enumerate() {
            assert!(hypothesis.log_prob <= 0.0);
            for better in &hypotheses[..place] {
                assert_ne!(better.tokens, hypothesis.tokens, "seed {seed}");
                assert!((better.ended, -better.score) <= (hypothesis.ended, -hypothesis.score), "seed {seed}");
            }
        }
    }
}
