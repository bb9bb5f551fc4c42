//! The engine against the forward pass written out plainly, and against itself in other company.

use crate::reference::{Model, Shape};
use umlaut_engine::{Decoder, Isa, Precision, with_isa_at_most};
use umlaut_search::{Candidate, StepDecoder, TokenId};

fn ids(tokens: &[u32]) -> Vec<TokenId> {
    tokens.iter().copied().map(TokenId).collect()
}

/// Feeds one token to each row; every candidate of each row.
fn step(decoder: &mut Decoder<'_>, last: &[u32], vocab: usize) -> Vec<Vec<Candidate>> {
    let mut candidates = Vec::new();
    decoder.step(&ids(last), vocab, &mut candidates).unwrap();
    candidates.chunks(vocab).map(<[_]>::to_vec).collect()
}

/// Sources of different lengths, one of EOS alone.
fn sources() -> Vec<Vec<u32>> {
    let tokens = |len: u32, seed: u32| (0..len).map(|i| 4 + (i * 7 + seed * 11) % 33).chain([2]).collect();
    vec![tokens(5, 1), tokens(0, 2), tokens(19, 3), tokens(1, 4), tokens(33, 5)]
}

fn targets() -> Vec<Vec<u32>> {
    (0..5).map(|row| [1].into_iter().chain((0..11).map(|i| 4 + (i * 5 + row * 3) % 33)).collect()).collect()
}

/// Candidates of each position and row, for the sentences `rows` in one decoder.
fn decode(model: &Model, precision: Precision, rows: &[usize]) -> Vec<Vec<Vec<Candidate>>> {
    let engine = model.engine(precision);
    let (sources, targets) = (sources(), targets());
    let sources: Vec<Vec<TokenId>> = rows.iter().map(|&row| ids(&sources[row])).collect();
    let mut decoder = engine.decoder(&sources.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
    let last = |position: usize| rows.iter().map(|&row| targets[row][position]).collect::<Vec<_>>();
    (0..targets[0].len()).map(|position| step(&mut decoder, &last(position), model.shape.vocab)).collect()
}

fn assert_agrees(got: &[Candidate], want: &[f64], bound: f64) {
    assert_eq!(got.len(), want.len());
    for candidate in got {
        let want = want[candidate.token.0 as usize];
        assert!((f64::from(candidate.log_prob) - want).abs() < bound, "{candidate:?} for {want}");
    }
    assert!(got.windows(2).all(|pair| pair[0].log_prob >= pair[1].log_prob), "best first");
}

fn shapes() -> [Shape; 7] {
    [
        Shape { layers: [1, 1], rope_layout: "half_split", ..Shape::default() },
        Shape { layers: [1, 3], norm: "post", embeddings: "separate", ..Shape::default() },
        Shape { layers: [3, 1], positions: "sinusoidal", ..Shape::default() },
        Shape { norm: "post", positions: "sinusoidal", ..Shape::default() },
        Shape { layers: [0, 0], ..Shape::default() },
        Shape { embeddings: "separate", ..Shape::default() },
        // Wider than a panel of columns, a head of several vectors, a vocabulary of several panels.
        Shape { vocab: 150, d_model: 136, n_heads: 2, d_ff: 260, ..Shape::default() },
    ]
}

#[test]
fn cached_steps_are_the_full_pass() {
    for shape in shapes() {
        let model = Model::new(shape);
        let got = decode(&model, Precision::F32, &[0, 1, 2, 3, 4]);
        for (row, (source, target)) in sources().iter().zip(targets()).enumerate() {
            let want = model.log_probs(source, &target);
            got.iter().zip(&want).for_each(|(got, want)| assert_agrees(&got[row], want, 1e-4));
        }
    }
}

#[test]
fn int8_stays_near_the_full_pass() {
    for shape in shapes() {
        let model = Model::new(shape);
        let got = decode(&model, Precision::Int8, &[0, 2, 4]);
        for (row, sentence) in [0, 2, 4].into_iter().enumerate() {
            let want = model.log_probs(&sources()[sentence], &targets()[sentence]);
            got.iter().zip(&want).for_each(|(got, want)| {
                for candidate in &got[row] {
                    let want = want[candidate.token.0 as usize];
                    assert!((f64::from(candidate.log_prob) - want).abs() < 0.3, "{candidate:?} for {want}");
                }
            });
        }
    }
}

#[test]
fn a_batch_is_its_sentences_one_by_one_to_the_bit() {
    let model = Model::new(Shape::default());
    for precision in [Precision::F32, Precision::Int8] {
        for isa in [Isa::Portable, Isa::Avx2, Isa::AvxVnni, Isa::Avx512, Isa::Amx] {
            with_isa_at_most(isa, || {
                let together = decode(&model, precision, &[4, 1, 0, 2, 3]);
                for (row, sentence) in [4, 1, 0, 2, 3].into_iter().enumerate() {
                    let alone = decode(&model, precision, &[sentence]);
                    for (alone, together) in alone.iter().zip(&together) {
                        assert_eq!(alone[0], together[row], "{precision:?} {isa:?}");
                    }
                }
            });
        }
    }
}

#[test]
fn instruction_sets_that_fuse_agree_to_the_bit() {
    for shape in shapes() {
        let model = Model::new(shape);
        for precision in [Precision::F32, Precision::Int8] {
            let on = |isa| with_isa_at_most(isa, || decode(&model, precision, &[0, 2, 4]));
            let best = on(Isa::Amx);
            for isa in [Isa::Avx2, Isa::AvxVnni, Isa::Avx512].into_iter().filter(|isa| *isa <= Isa::best()) {
                assert_eq!(on(isa), best, "{shape:?} {precision:?} {isa:?}");
            }
        }
    }
}

#[test]
fn many_sentences_are_encoded_as_one_would_be() {
    // More tokens than the encoder takes at a time.
    let (model, rows) = (Model::new(Shape::default()), [4, 2, 4, 2, 0, 4, 4, 4, 2, 4, 4, 4, 4, 4, 1, 4, 2]);
    let together = decode(&model, Precision::F32, &rows);
    let alone = decode(&model, Precision::F32, &[2]);
    for (alone, together) in alone.iter().zip(&together) {
        assert_eq!(alone[0], together[16]);
    }
}

#[test]
fn reordered_rows_continue_their_parents() {
    let model = Model::new(Shape::default());
    for precision in [Precision::F32, Precision::Int8] {
        let engine = model.engine(precision);
        let vocab = model.shape.vocab;
        let sources: Vec<Vec<TokenId>> = [0, 2].iter().map(|&i| ids(&sources()[i])).collect();
        let mut decoder = engine.decoder(&[&sources[0], &sources[1]]).unwrap();
        // A beam for each sentence, copies, drops, rows that change places, a sentence that ends.
        let plan: [(&[u32], &[usize]); 5] = [
            (&[1, 1], &[0, 0, 1, 1, 1]),
            (&[5, 6, 7, 8, 9], &[1, 1, 2, 4]),
            (&[10, 11, 12, 13], &[3, 2, 0]),
            (&[14, 15, 16], &[1, 0]),
            (&[17, 18], &[0]),
        ];
        let mut prefixes: Vec<(usize, Vec<u32>)> = vec![(0, vec![]), (1, vec![])];
        for (last, parents) in plan {
            prefixes.iter_mut().zip(last).for_each(|((_, prefix), &token)| prefix.push(token));
            let got = step(&mut decoder, last, vocab);
            for (got, (sentence, prefix)) in got.iter().zip(&prefixes) {
                let mut alone = engine.decoder(&[&sources[*sentence]]).unwrap();
                let want = prefix.iter().map(|&token| step(&mut alone, &[token], vocab)).last().unwrap();
                assert_eq!(got, &want[0]);
            }
            decoder.reorder(parents);
            prefixes = parents.iter().map(|&row| prefixes[row].clone()).collect();
        }
    }
}

#[test]
fn fewer_candidates_are_the_first_of_many_and_too_many_are_padded() {
    let model = Model::new(Shape::default());
    let engine = model.engine(Precision::F32);
    let (source, vocab) = (ids(&sources()[0]), model.shape.vocab);
    let ask = |k| {
        let mut candidates = Vec::new();
        engine.decoder(&[&source]).unwrap().step(&[TokenId(1)], k, &mut candidates).unwrap();
        candidates
    };
    let all = ask(vocab);
    assert_eq!(ask(3), all[..3]);
    let padded = ask(vocab + 2);
    assert_eq!(padded[..vocab], all);
    assert!(padded[vocab..].iter().all(|candidate| candidate.log_prob == f32::NEG_INFINITY));
    let total: f64 = all.iter().map(|candidate| f64::from(candidate.log_prob).exp()).sum();
    assert!((total - 1.0).abs() < 1e-5, "{total}");
}

#[test]
fn threads_share_an_engine() {
    let model = Model::new(Shape::default());
    let engine = model.engine(Precision::Int8);
    let source = ids(&sources()[2]);
    let decode = || step(&mut engine.decoder(&[&source]).unwrap(), &[1], model.shape.vocab);
    let want = decode();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..3).map(|_| scope.spawn(decode)).collect();
        for worker in workers {
            assert_eq!(worker.join().unwrap(), want);
        }
    });
}

#[test]
fn an_empty_batch_has_no_rows() {
    let model = Model::new(Shape::default());
    let engine = model.engine(Precision::F32);
    let mut candidates = vec![];
    engine.decoder(&[]).unwrap().step(&[], 4, &mut candidates).unwrap();
    assert!(candidates.is_empty());
}
