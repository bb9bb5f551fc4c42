//! Two roads, one answer: padding, steps with caches, shifts of position, rearranged rows, files.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use burn_flex::{Flex, FlexDevice};
use umlaut_model::decoder::CachedDecoder;
use umlaut_model::directory::{self, Storage};
use umlaut_model::dropout::Dropout;
use umlaut_model::{
    Embeddings, ModelError, NormPlacement, Positions, Precision, RopeLayout, Sequences, Transformer, TransformerConfig,
    average, parameters,
};
use umlaut_search::{StepDecoder, TokenId};

const PAD: u32 = 3;

fn config(norm: NormPlacement, positions: Positions) -> TransformerConfig {
    TransformerConfig {
        format: umlaut_model::config::FORMAT.into(),
        vocab: 40,
        d_model: 16,
        n_heads: 2,
        d_ff: 32,
        encoder_layers: 3,
        decoder_layers: 2,
        norm,
        positions,
        rope_theta: 10_000.0,
        rope_layout: RopeLayout::Interleaved,
        embeddings: Embeddings::Shared,
        norm_epsilon: 1e-5,
        dropout: 0.1,
        attention_dropout: 0.0,
        activation_dropout: 0.0,
        precision: Precision::F32,
        unk_id: 0,
        bos_id: 1,
        eos_id: 2,
        pad_id: PAD,
    }
}

fn models() -> Vec<Transformer<Flex>> {
    let kinds = [
        (NormPlacement::Pre, Positions::Rope),
        (NormPlacement::Post, Positions::Rope),
        (NormPlacement::Pre, Positions::Sinusoidal),
        (NormPlacement::Post, Positions::Sinusoidal),
    ];
    kinds.map(|(norm, positions)| config(norm, positions).init(9, &FlexDevice).unwrap()).to_vec()
}

fn sentence(len: usize, seed: usize) -> Vec<u32> {
    (0..len).map(|i| 4 + ((i * 13 + seed * 7) % 36) as u32).collect()
}

/// Sentences as one batch, padded to `len`.
fn pad(sentences: &[Vec<u32>], len: usize) -> (Vec<u32>, Vec<usize>) {
    let row = |s: &Vec<u32>| [s.clone(), vec![PAD; len - s.len()]].concat();
    (sentences.iter().flat_map(row).collect(), sentences.iter().map(Vec::len).collect())
}

/// Logits of every position of `target` after `source`, each padded to a length: `[batch, tgt_len, vocab]`.
fn logits(model: &Transformer<Flex>, source: (&[Vec<u32>], usize), target: (&[Vec<u32>], usize)) -> Vec<f32> {
    let (src, src_lengths) = pad(source.0, source.1);
    let (tgt, tgt_lengths) = pad(target.0, target.1);
    let source = Sequences { ids: &src, lengths: &src_lengths };
    let memory = model.encode(source, &mut Dropout::off());
    let hidden = model.decode(Sequences { ids: &tgt, lengths: &tgt_lengths }, &memory, source, &mut Dropout::off());
    model.logits(hidden).into_data().into_vec().unwrap()
}

#[track_caller]
fn assert_close(a: &[f32], b: &[f32], tolerance: f32) {
    assert_eq!(a.len(), b.len());
    let worst = a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(worst < tolerance, "they differ by {worst}");
}

#[test]
fn padding_and_batch_mates_change_nothing() {
    for model in models() {
        let (source, target) = (sentence(6, 1), sentence(5, 2));
        let alone = logits(&model, (std::slice::from_ref(&source), 6), (std::slice::from_ref(&target), 5));
        let longer = logits(&model, (std::slice::from_ref(&source), 36), (std::slice::from_ref(&target), 25));
        assert_close(&alone, &longer[..alone.len()], 1e-5);
        let batch = logits(&model, (&[source, sentence(11, 3)], 11), (&[target, sentence(9, 4)], 9));
        assert_close(&alone, &batch[..alone.len()], 1e-5);
    }
}

#[test]
fn a_step_with_caches_is_the_full_pass() {
    for model in models() {
        let sources = [sentence(7, 1), sentence(3, 5)];
        let targets = [sentence(40, 2), sentence(40, 8)];
        let full = logits(&model, (&sources, 7), (&targets, 40));
        let (src, lengths) = pad(&sources, 7);
        let mut decoder = CachedDecoder::new(&model, Sequences { ids: &src, lengths: &lengths });
        for t in 0..40 {
            let got: Vec<f32> =
                decoder.log_probs(&targets.each_ref().map(|s| TokenId(s[t]))).into_data().into_vec().unwrap();
            for row in 0..2 {
                let want = log_softmax(&full[(row * 40 + t) * 40..][..40]);
                assert_close(&got[row * 40..][..40], &want, 1e-4);
            }
        }
    }
}

fn log_softmax(logits: &[f32]) -> Vec<f32> {
    let max = logits.iter().copied().fold(f32::MIN, f32::max);
    let sum: f32 = logits.iter().map(|x| (x - max).exp()).sum();
    logits.iter().map(|x| x - max - sum.ln()).collect()
}

#[test]
fn reordered_rows_carry_their_own_past() {
    let model = &models()[0];
    let sources = [sentence(7, 1), sentence(3, 5)];
    let (src, lengths) = pad(&sources, 7);
    let new = || CachedDecoder::new(model, Sequences { ids: &src, lengths: &lengths });
    let (mut straight, mut turned) = (new(), new());
    straight.log_probs(&[TokenId(1), TokenId(1)]);
    straight.log_probs(&[TokenId(8), TokenId(9)]);
    turned.log_probs(&[TokenId(1), TokenId(1)]);
    turned.reorder(&[1, 0, 1]);
    turned.log_probs(&[TokenId(9), TokenId(8), TokenId(30)]);
    turned.reorder(&[1, 0]);
    let last = [TokenId(5), TokenId(6)];
    let (mut a, mut b) = (Vec::new(), Vec::new());
    straight.step(&last, 6, &mut a).unwrap();
    turned.step(&last, 6, &mut b).unwrap();
    let tokens = |c: &[umlaut_search::Candidate]| c.iter().map(|c| c.token).collect::<Vec<_>>();
    assert_eq!(tokens(&a), tokens(&b));
    let log_probs = |c: &[umlaut_search::Candidate]| c.iter().map(|c| c.log_prob).collect::<Vec<_>>();
    assert_close(&log_probs(&a), &log_probs(&b), 1e-5);
}

#[test]
fn rotated_scores_depend_on_the_distance_alone() {
    use burn::tensor::{Tensor, TensorData};
    use umlaut_model::ops::composed::rotate;
    use umlaut_model::position::Rotary;
    let device = FlexDevice;
    let rotary = Rotary::<Flex>::new(10, 4, 10_000.0, &device);
    let at = |x: [f32; 4], position: usize| -> Vec<f32> {
        let x = Tensor::<Flex, 4>::from_data(TensorData::new(x.to_vec(), [1, 1, 1, 4]), &device);
        rotate(x, rotary.cos.clone(), rotary.sin.clone(), position).into_data().into_vec().unwrap()
    };
    let (q, k) = ([1.0, 2.0, 3.0, 4.0], [0.5, -1.0, 2.0, 0.25]);
    assert_close(&at(q, 1), &[-1.142_64, 1.922_08, 2.959_85, 4.029_8], 1e-5);
    assert_eq!(at(q, 0), q);
    let dot = |a: Vec<f32>, b: Vec<f32>| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    let (near, far) = (dot(at(q, 2), at(k, 0)), dot(at(q, 9), at(k, 7)));
    assert!((near - 5.659).abs() < 1e-3 && (near - far).abs() < 1e-4, "{near} {far}");
    let length = |x: Vec<f32>| x.iter().map(|x| x * x).sum::<f32>();
    assert!((length(at(q, 7)) - 30.0).abs() < 1e-4);
}

#[test]
fn a_model_read_back_is_the_model_and_shared_embeddings_are_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    for model in models() {
        directory::write(&model, dir.path(), Storage::F32).unwrap();
        let back: Transformer<Flex> = directory::read(dir.path(), &FlexDevice).unwrap();
        assert_eq!(parameters::arrays(&model), parameters::arrays(&back));
        assert_eq!(model.config(), back.config());
        let bytes = std::fs::metadata(dir.path().join(directory::WEIGHTS)).unwrap().len() as usize;
        let weights = 4 * parameters::count(&model);
        assert!(bytes < weights + weights / 5 && average::count_parameters(dir.path()).unwrap() * 4 == weights);
    }
}

#[test]
fn the_parameters_are_counted_as_the_literature_counts_them() {
    let base = TransformerConfig {
        vocab: 37_000,
        d_model: 512,
        n_heads: 8,
        d_ff: 2048,
        encoder_layers: 6,
        decoder_layers: 6,
        ..config(NormPlacement::Post, Positions::Rope)
    };
    let attention = 4 * (512 * 512 + 512);
    let feed_forward = 2 * 512 * 2048 + 2048 + 512;
    let layers = 6 * (attention + feed_forward + 2 * 1024) + 6 * (2 * attention + feed_forward + 3 * 1024);
    assert_eq!(layers + 37_000 * 512, 63_082_496);
    let small = TransformerConfig { vocab: 40, encoder_layers: 1, decoder_layers: 1, ..base };
    let model: Transformer<Flex> = small.init(1, &FlexDevice).unwrap();
    assert_eq!(parameters::count(&model), layers / 6 + 40 * 512);
}

#[test]
fn averages_are_means_and_a_stranger_is_named() {
    let dirs: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
    let paths: Vec<_> = dirs.iter().map(|dir| dir.path().to_owned()).collect();
    let config = config(NormPlacement::Pre, Positions::Rope);
    for (seed, path) in paths.iter().enumerate() {
        let model: Transformer<Flex> = config.init(seed as u64, &FlexDevice).unwrap();
        directory::write(&model, path, Storage::F32).unwrap();
    }
    let arrays = |path: &std::path::Path| directory::read_arrays(&path.join(directory::WEIGHTS)).unwrap();
    let mean = average::average(&paths).unwrap();
    for (name, got) in &mean {
        for (i, x) in got.data.iter().enumerate() {
            let want = paths.iter().map(|path| f64::from(arrays(path)[name].data[i])).sum::<f64>() / 3.0;
            assert!((f64::from(*x) - want).abs() < 1e-7, "{name}");
        }
    }
    let turned = average::average(&[paths[2].clone(), paths[0].clone(), paths[1].clone()]).unwrap();
    for (a, b) in mean.values().zip(turned.values()) {
        assert_close(&a.data, &b.data, 1e-7);
    }
    assert_eq!(average::average(&vec![paths[1].clone(); 10]).unwrap(), arrays(&paths[1]));

    directory::write_config(&TransformerConfig { dropout: 0.3, ..config }, &paths[1]).unwrap();
    let error = average::average(&paths).unwrap_err();
    assert!(matches!(error, ModelError::Average { .. }));
    assert!(error.to_string().contains(paths[1].to_str().unwrap()), "{error}");
}

#[test]
fn a_file_that_is_no_model_is_an_error_that_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let model = &models()[0];
    directory::write(model, dir.path(), Storage::F16).unwrap();
    let weights = dir.path().join(directory::WEIGHTS);
    let bytes = std::fs::read(&weights).unwrap();
    let read = || directory::read::<Flex>(dir.path(), &FlexDevice).unwrap_err().to_string();
    for broken in [&bytes[..bytes.len() / 2], &[], b"not a model"] {
        std::fs::write(&weights, broken).unwrap();
        assert!(read().contains("model.safetensors"), "{}", read());
    }
    std::fs::write(&weights, &bytes).unwrap();
    directory::write_config(&TransformerConfig { vocab: 50, ..model.config().clone() }, dir.path()).unwrap();
    assert!(read().contains("[50, 16]") && read().contains("[40, 16]"), "{}", read());
    std::fs::write(dir.path().join(directory::CONFIG), "{\"vocabulary\": 3}").unwrap();
    assert!(read().contains("config.json") && read().contains("vocabulary"), "{}", read());
}
