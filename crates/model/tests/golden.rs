//! The model against PyTorch: forward pass, loss and gradients of two small models (`tests/golden/make_golden.py`).

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};

use burn::module::ParamId;
use burn::tensor::{Tensor, TensorData};
use burn_flex::{Flex, FlexDevice};
use safetensors::SafeTensors;
use umlaut_model::dropout::Dropout;
use umlaut_model::ops::{CpuAutodiff, Criterion, IGNORED};
use umlaut_model::parameters::{self, Array, Arrays, VisitParameters};
use umlaut_model::{Precision, Sequences, Transformer, TransformerConfig};

type B = CpuAutodiff;

struct Golden {
    config: TransformerConfig,
    ids: Vec<(String, Vec<u32>)>,
    arrays: Arrays,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn golden(name: &str) -> Golden {
    let config = serde_json::from_slice(&std::fs::read(folder().join(format!("{name}.json"))).unwrap()).unwrap();
    let bytes = std::fs::read(folder().join(format!("{name}.safetensors"))).unwrap();
    let (mut ids, mut arrays) = (Vec::new(), Arrays::new());
    for (name, view) in SafeTensors::deserialize(&bytes).unwrap().tensors() {
        let data = view.data();
        if matches!(name.as_str(), "src" | "tgt_in" | "tgt_out") {
            let values = data.chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().unwrap()) as u32);
            ids.push((name, values.collect()));
        } else {
            let data = data.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
            arrays.insert(name, Array { shape: view.shape().to_vec(), data });
        }
    }
    Golden { config, ids, arrays }
}

impl Golden {
    fn ids(&self, name: &str) -> &[u32] {
        &self.ids.iter().find(|(n, _)| n == name).unwrap().1
    }

    /// Real tokens of each of the three rows.
    fn lengths(&self, name: &str) -> Vec<usize> {
        let pad = self.config.pad_id;
        let ids = self.ids(name);
        ids.chunks(ids.len() / 3).map(|row| row.iter().filter(|id| **id != pad).count()).collect()
    }

    fn model(&self) -> Transformer<B> {
        let is_result = |name: &str| {
            ["grad.", "adam", "memory", "logits", "loss", "nll", "token_nll"].iter().any(|p| name.starts_with(p))
        };
        let weights = self.arrays.iter().filter(|(name, _)| !is_result(name));
        let weights = weights.map(|(name, array)| (name.clone(), array.clone())).collect();
        parameters::load(self.config.init(0, &FlexDevice).unwrap(), weights).unwrap()
    }

    fn labels(&self) -> Vec<u32> {
        let pad = self.config.pad_id;
        self.ids("tgt_out").iter().map(|id| if *id == pad { IGNORED } else { *id }).collect()
    }
}

#[track_caller]
fn assert_close(what: &str, got: &[f32], want: &[f32], tolerance: f32) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= tolerance * want.abs().max(1.0), "{what} at {i}: {got} against {want}");
    }
}

fn values<const D: usize>(x: Tensor<B, D>) -> Vec<f32> {
    x.into_data().into_vec().unwrap()
}

/// Only real positions: what stands on padding is nobody's business.
fn real_rows(x: &[f32], lengths: &[usize]) -> Vec<f32> {
    let sentence = x.len() / lengths.len();
    let width = |len: usize| len * sentence;
    let longest = *lengths.iter().max().unwrap();
    lengths.iter().enumerate().flat_map(|(i, n)| x[width(i)..][..sentence / longest * n].to_vec()).collect()
}

/// Within a fifth of the whole: operands have 8 bits, and a small gradient is what large ones leave of each other.
#[track_caller]
fn assert_near(what: &str, got: &[f32], want: &[f32], _tolerance: f32) {
    let norm = |x: &mut dyn Iterator<Item = f32>| x.map(|x| x * x).sum::<f32>().sqrt();
    let off = norm(&mut got.iter().zip(want).map(|(got, want)| got - want));
    let all = norm(&mut want.iter().copied());
    assert!(got.len() == want.len() && off <= 0.2 * all + 1e-3, "{what}: off by {off} of {all}");
}

type Check = fn(&str, &[f32], &[f32], f32);

fn agrees_with_pytorch(name: &str, precision: Precision, check: Check) {
    let mut golden = golden(name);
    golden.config.precision = precision;
    let model = golden.model();
    let (src_lengths, tgt_lengths) = (golden.lengths("src"), golden.lengths("tgt_in"));
    let source = Sequences { ids: golden.ids("src"), lengths: &src_lengths };
    let target = Sequences { ids: golden.ids("tgt_in"), lengths: &tgt_lengths };
    let off = &mut Dropout::off();

    let memory = model.encode(source, off);
    let hidden = model.decode(target, &memory, source, off);
    let memory = real_rows(&values(memory), &src_lengths);
    check("memory", &memory, &real_rows(&golden.arrays["memory"].data, &src_lengths), 1e-5);
    let logits = real_rows(&values(model.logits(hidden)), &tgt_lengths);
    check("logits", &logits, &real_rows(&golden.arrays["logits"].data, &tgt_lengths), 1e-5);

    let sums = model.loss(source, target, &golden.labels(), Criterion::smoothed(0.1), off);
    let count = golden.labels().iter().filter(|id| **id != IGNORED).count() as f32;
    let got: Vec<f32> = values(sums.clone()).iter().map(|sum| sum / count).collect();
    check("loss and nll", &got, &[golden.arrays["loss"].data[0], golden.arrays["nll"].data[0]], 1e-6);

    let mut gradients =
        CheckGradients { grads: sums.narrow(0, 0, 1).backward(), golden: &golden, count, check, seen: 0 };
    parameters::visit(&model, &mut gradients);
    assert_eq!(gradients.seen, golden.arrays.keys().filter(|name| name.starts_with("grad.")).count());
}

struct CheckGradients<'a> {
    grads: <B as burn::tensor::backend::AutodiffBackend>::Gradients,
    golden: &'a Golden,
    count: f32,
    check: Check,
    seen: usize,
}

impl VisitParameters<B> for CheckGradients<'_> {
    fn parameter<const D: usize>(&mut self, name: &str, _: ParamId, tensor: Tensor<B, D>) {
        let gradient = tensor.grad(&self.grads).unwrap() / self.count;
        let want = &self.golden.arrays[&format!("grad.{name}")].data;
        (self.check)(name, &gradient.into_data().into_vec::<f32>().unwrap(), want, 1e-5);
        self.seen += 1;
    }
}

#[test]
fn a_pre_norm_rotary_model_with_shared_embeddings_is_pytorchs() {
    agrees_with_pytorch("pre_rope_shared", Precision::F32, assert_close);
}

#[test]
fn a_post_norm_sinusoidal_model_with_separate_embeddings_is_pytorchs() {
    agrees_with_pytorch("post_sinusoidal_separate", Precision::F32, assert_close);
}

#[test]
fn in_bf16_both_are_near_pytorchs() {
    agrees_with_pytorch("pre_rope_shared", Precision::Bf16, assert_near);
    agrees_with_pytorch("post_sinusoidal_separate", Precision::Bf16, assert_near);
}

#[test]
fn fused_and_composed_operations_have_one_loss_and_one_gradient() {
    use burn::tensor::TensorPrimitive;
    use umlaut_kernels::training::attention::Direction;
    use umlaut_model::ops::{AttentionSpec, FusedOps, composed, float, tensor};

    let device = FlexDevice;
    let numbers = |rows: usize, columns: usize, seed: usize| {
        let data: Vec<f32> = (0..rows * columns).map(|i| ((i + seed) * 7919 % 1009) as f32 / 500.0 - 1.0).collect();
        Tensor::<B, 2>::from_data(TensorData::new(data, [rows, columns]), &device).require_grad()
    };
    let (query, key, value) = (numbers(10, 8, 1), numbers(10, 8, 2), numbers(10, 8, 3));
    let (cos, sin) = (numbers(5, 2, 4), numbers(5, 2, 5));
    let spec = AttentionSpec {
        n_heads: 2,
        q_len: 5,
        k_len: 5,
        key_lengths: vec![5, 3],
        direction: Direction::Past,
        dropout: None,
        precision: Precision::F32,
    };
    let rotary = || Some((float(cos.clone().detach()), float(sin.clone().detach())));
    let gradients = |output: burn::tensor::ops::FloatTensor<B>| {
        let output = Tensor::<B, 2>::from_primitive(TensorPrimitive::Float(output));
        let grads = (output.clone() * numbers(10, 8, 9).detach()).sum().backward();
        [Some(output.inner()), query.grad(&grads), key.grad(&grads), value.grad(&grads)]
            .map(|x| x.unwrap().into_data().into_vec::<f32>().unwrap())
    };
    let projections = || [float(query.clone()), float(key.clone()), float(value.clone())];
    let [q, k, v] = projections();
    let fused = gradients(B::fused_attention(q, k, v, rotary(), spec.clone()));
    let [q, k, v] = projections();
    let plain = gradients(composed::attention::<B>(q, k, v, rotary(), &spec));
    for (fused, plain) in fused.iter().zip(&plain) {
        assert_close("attention", fused, plain, 1e-5);
    }

    let (hidden, weight) = (numbers(10, 8, 6), numbers(13, 8, 7));
    let targets: Vec<u32> = (0..10).map(|i| if i % 5 == 3 { IGNORED } else { i % 5 }).collect();
    let gradients = |loss: burn::tensor::ops::FloatTensor<B>| {
        let loss: Tensor<B, 1> = tensor(loss);
        let grads = (loss.clone() * 0.5).narrow(0, 0, 1).backward();
        [Some(loss.inner().unsqueeze()), hidden.grad(&grads), weight.grad(&grads)]
            .map(|x: Option<Tensor<Flex, 2>>| x.unwrap().into_data().into_vec::<f32>().unwrap())
    };
    for r_drop in [0.0, 3.0] {
        let criterion = Criterion { smoothing: 0.1, r_drop };
        let inputs = || [float(hidden.clone()), float(weight.clone())];
        let [states, projection] = inputs();
        let fused = gradients(B::fused_cross_entropy(states, projection, &targets, criterion, Precision::F32));
        let [states, projection] = inputs();
        let plain = gradients(composed::cross_entropy::<B>(states, projection, &targets, criterion, Precision::F32));
        for (fused, plain) in fused.iter().zip(&plain) {
            assert_close("cross-entropy", fused, plain, 1e-5);
        }
    }
}
