//! Batch plans and padded rows.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::PathBuf;
use umlaut_text::{
    TextError, TokenId, Vocab,
    batch::{pad, plan_batches, plan_lines},
    corpus::PairCorpus,
    rng::SplitMix64,
    vocab::VocabRecipe,
};

/// Lengths as a corpus has them: sources about log-normal around 20 tokens, targets near a tenth longer.
fn lengths(count: usize) -> Vec<(usize, usize)> {
    let mut random = SplitMix64::new(42);
    let mut normal = move || (0..12).map(|_| random.next_f64()).sum::<f64>() - 6.0;
    (0..count)
        .map(|_| {
            let src = (3.0 + 0.6 * normal()).exp();
            (src.clamp(1.0, 200.0) as usize, (1.1 * src * (0.15 * normal()).exp()).clamp(1.0, 200.0) as usize)
        })
        .collect()
}

fn cost(lengths: &[(usize, usize)], batch: &[u32]) -> usize {
    batch.len() * batch.iter().map(|&i| lengths[i as usize].0.max(lengths[i as usize].1) + 1).max().unwrap()
}

#[test]
fn every_pair_is_in_exactly_one_batch_and_no_batch_is_too_large() {
    for count in [0, 1, 2, 7, 8, 9, 63, 64, 65, 873, 20_000] {
        let lengths = lengths(count);
        for max_tokens in [201, 1000, 4096] {
            let batches = plan_batches(&lengths, max_tokens, 1, 1).unwrap();
            assert!(batches.iter().all(|batch| !batch.is_empty() && cost(&lengths, batch) <= max_tokens));
            let mut pairs: Vec<u32> = batches.concat();
            pairs.sort_unstable();
            assert_eq!(pairs, (0..count as u32).collect::<Vec<u32>>());
        }
    }
}

#[test]
fn an_epoch_has_its_own_order_and_the_seed_alone_decides_it() {
    let lengths = lengths(5000);
    let plan = |seed, epoch| plan_batches(&lengths, 4096, seed, epoch).unwrap();
    assert_eq!(plan(1, 1), plan(1, 1));
    assert_ne!(plan(1, 1), plan(1, 2));
    assert_ne!(plan(1, 1), plan(2, 1));
    assert_ne!(plan(1, 2), plan(2, 1));
    let on_threads =
        |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| plan(3, 4));
    assert_eq!(on_threads(1), on_threads(4));
}

#[test]
fn batches_are_shuffled_and_not_in_the_order_of_length() {
    let lengths = lengths(20_000);
    let batches = plan_batches(&lengths, 4096, 1, 1).unwrap();
    let rows: Vec<usize> = batches.iter().map(Vec::len).collect();
    let rising = rows.windows(2).filter(|pair| pair[0] < pair[1]).count() as f64 / rows.len() as f64;
    assert!((0.35..0.65).contains(&rising), "{rising}");
}

#[test]
fn little_of_a_batch_is_padding() {
    for (count, max_tokens) in [(30_000, 4096), (300_000, 4096), (300_000, 25_000)] {
        let lengths = lengths(count);
        let (mut cells, mut real) = (0, 0);
        for batch in plan_batches(&lengths, max_tokens, 1, 1).unwrap() {
            let sides = |i: &u32| lengths[*i as usize];
            let src_len = batch.iter().map(|i| sides(i).0 + 1).max().unwrap();
            let tgt_len = batch.iter().map(|i| sides(i).1 + 1).max().unwrap();
            cells += batch.len() * (src_len + tgt_len);
            real += batch.iter().map(|i| sides(i).0 + sides(i).1 + 2).sum::<usize>();
        }
        let padding = 1.0 - real as f64 / cells as f64;
        println!("{count} pairs, {max_tokens} tokens: {:.1} % padding", 100.0 * padding);
        assert!(padding < 0.07, "{padding}");
    }
}

#[test]
fn a_pair_that_fits_no_batch_is_refused_with_its_index() {
    let error = plan_batches(&[(3, 3), (5, 10)], 10, 1, 1).unwrap_err();
    assert!(matches!(error, TextError::TooLong { index: 1, tokens: 11, max_tokens: 10 }), "{error}");
    assert_eq!(plan_batches(&[(9, 3), (5, 9)], 10, 1, 1).unwrap().len(), 2);
    assert!(plan_batches(&[(0, 0)], 0, 1, 1).is_err());
}

#[test]
fn lines_are_grouped_by_length_the_longest_first_and_each_once() {
    assert_eq!(plan_lines(&[3, 9, 1, 3, 20, 1, 1], 9), [vec![4], vec![1], vec![0, 3, 2], vec![5, 6]]);
    assert_eq!(plan_lines(&[], 9), Vec::<Vec<usize>>::new());
    let mut random = SplitMix64::new(8);
    let lengths: Vec<usize> = (0..873).map(|_| random.below(50) as usize).collect();
    for max_tokens in [0, 1, 64, 4096] {
        let batches = plan_lines(&lengths, max_tokens);
        for batch in &batches {
            assert!(batch.len() == 1 || batch.len() * lengths[batch[0]] <= max_tokens.max(1));
        }
        let mut lines = batches.concat();
        lines.sort_unstable();
        assert_eq!(lines, (0..873).collect::<Vec<usize>>());
    }
}

#[test]
fn padded_rows_carry_the_marks_and_count_the_real_tokens() {
    let text: PathBuf = [env!("CARGO_MANIFEST_DIR"), "tests", "fixtures", "toy.txt"].iter().collect();
    let model = VocabRecipe { size: 420, ..VocabRecipe::default() }.train(&[text]).unwrap();
    let vocab = Vocab::from_bytes(&model).unwrap();
    let mut corpus = PairCorpus::new(vocab.len());
    let tokens = |ids: &[u32]| ids.iter().map(|&id| TokenId(id)).collect::<Vec<_>>();
    for (src, tgt) in [(&[10, 11, 12][..], &[20][..]), (&[13], &[21, 22]), (&[], &[])] {
        corpus.src.push(&tokens(src));
        corpus.tgt.push(&tokens(tgt));
    }
    let batch = corpus.pad(&[1, 0, 2], &vocab);
    assert_eq!((batch.batch, batch.src_len, batch.tgt_len), (3, 4, 3));
    assert_eq!(batch.src, [13, 2, 3, 3, 10, 11, 12, 2, 2, 3, 3, 3]);
    assert_eq!(batch.tgt_in, [1, 21, 22, 1, 20, 3, 1, 3, 3]);
    assert_eq!(batch.tgt_out, [21, 22, 2, 20, 2, 3, 2, 3, 3]);
    assert_eq!((batch.src_tokens, batch.tgt_tokens), (7, 6));
    assert_eq!(batch.lengths(vocab.pad().0), (vec![2, 4, 1], vec![3, 2, 1]));
    let twice = batch.repeat(2);
    assert_eq!((twice.batch, twice.src_len, twice.src_tokens, twice.tgt_tokens), (6, 4, 14, 12));
    assert_eq!((&twice.src[..12], &twice.src[12..]), (&batch.src[..], &batch.src[..]));
    assert_eq!(pad(&[], &vocab).src, [0; 0]);
}
