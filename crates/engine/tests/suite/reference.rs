//! Random models in memory, and the forward pass written out plainly: f64, whole sequences, no cache, one sentence.

use std::collections::BTreeMap;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, serialize};
use umlaut_engine::{Engine, Precision};

/// Tensors by name: shapes and numbers.
pub(crate) type Tensors = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

/// What distinguishes the models of the tests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) vocab: usize,
    pub(crate) d_model: usize,
    pub(crate) n_heads: usize,
    pub(crate) d_ff: usize,
    pub(crate) layers: [usize; 2],
    pub(crate) norm: &'static str,
    pub(crate) positions: &'static str,
    pub(crate) rope_layout: &'static str,
    pub(crate) embeddings: &'static str,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            vocab: 37,
            d_model: 24,
            n_heads: 3,
            d_ff: 40,
            layers: [2, 2],
            norm: "pre",
            positions: "rope",
            rope_layout: "interleaved",
            embeddings: "shared",
        }
    }
}

/// A model.
pub(crate) struct Model {
    pub(crate) shape: Shape,
    pub(crate) tensors: Tensors,
}

impl Model {
    /// A random model.
    pub(crate) fn new(shape: Shape) -> Self {
        let mut state = 88_172_645_463_325_252_u64;
        let mut next = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        };
        let mut tensors = Tensors::new();
        for (name, dims) in names(shape) {
            let scale = 1.7 / (*dims.last().unwrap() as f32).sqrt();
            let is_gain = name.ends_with("norm.weight");
            let numbers = (0..dims.iter().product::<usize>())
                .map(|_| if is_gain { 1.0 + 0.3 * next() } else { scale * next() })
                .collect();
            tensors.insert(name, (dims, numbers));
        }
        Self { shape, tensors }
    }

    pub(crate) fn config(&self) -> String {
        let Shape { vocab, d_model, n_heads, d_ff, layers, norm, positions, rope_layout, embeddings } = self.shape;
        format!(
            r#"{{"format":"umlaut-1","vocab":{vocab},"d_model":{d_model},"n_heads":{n_heads},"d_ff":{d_ff},
            "encoder_layers":{},"decoder_layers":{},"norm":"{norm}","positions":"{positions}","rope_theta":10000.0,
            "rope_layout":"{rope_layout}","embeddings":"{embeddings}","norm_epsilon":1e-5,"dropout":0.1,
            "attention_dropout":0.0,"activation_dropout":0.0,"unk_id":0,"bos_id":1,"eos_id":2,"pad_id":3}}"#,
            layers[0], layers[1]
        )
    }

    pub(crate) fn weights(&self) -> Vec<u8> {
        to_safetensors(&self.tensors)
    }

    pub(crate) fn engine(&self, precision: Precision) -> Engine {
        Engine::from_parts(self.config().as_bytes(), &self.weights(), precision).unwrap()
    }

    /// log p of every token after each prefix of `target` (which begins with BOS): `[tgt_len, vocab]`.
    pub(crate) fn log_probs(&self, source: &[u32], target: &[u32]) -> Vec<Vec<f64>> {
        let memory = self.encode(source);
        let mut x = self.embed(if self.is_shared() { "embedding" } else { "target_embedding" }, target);
        for layer in 0..self.shape.layers[1] {
            let name = format!("decoder.layers.{layer}");
            self.sublayer(&format!("{name}.self_attention_norm"), &mut x, |y| {
                self.attention(&format!("{name}.self_attention"), y, y, Sees::Past)
            });
            self.sublayer(&format!("{name}.cross_attention_norm"), &mut x, |y| {
                self.attention(&format!("{name}.cross_attention"), y, &memory, Sees::Memory)
            });
            self.feed_forward(&name, &mut x);
        }
        self.final_norm("decoder", &mut x);
        let output = if self.is_shared() { "embedding.weight" } else { "output.weight" };
        x.iter().map(|x| log_softmax(&self.multiply(output, x))).collect()
    }

    fn encode(&self, source: &[u32]) -> Vec<Vec<f64>> {
        let mut x = self.embed(if self.is_shared() { "embedding" } else { "source_embedding" }, source);
        for layer in 0..self.shape.layers[0] {
            let name = format!("encoder.layers.{layer}");
            self.sublayer(&format!("{name}.self_attention_norm"), &mut x, |y| {
                self.attention(&format!("{name}.self_attention"), y, y, Sees::All)
            });
            self.feed_forward(&name, &mut x);
        }
        self.final_norm("encoder", &mut x);
        x
    }

    fn is_shared(&self) -> bool {
        self.shape.embeddings == "shared"
    }

    fn embed(&self, table: &str, ids: &[u32]) -> Vec<Vec<f64>> {
        let d = self.shape.d_model;
        let table = &self.tensors[&format!("{table}.weight")].1;
        let sinusoid = |position: usize, i: usize| {
            let angle = position as f64 / 10_000_f64.powf((i / 2 * 2) as f64 / d as f64);
            if i.is_multiple_of(2) { angle.sin() } else { angle.cos() }
        };
        let number = |position: usize, id: u32, i: usize| {
            let embedding = f64::from(table[id as usize * d + i]) * (d as f64).sqrt();
            embedding + if self.shape.positions == "sinusoidal" { sinusoid(position, i) } else { 0.0 }
        };
        ids.iter().enumerate().map(|(position, &id)| (0..d).map(|i| number(position, id, i)).collect()).collect()
    }

    fn sublayer(&self, norm: &str, x: &mut [Vec<f64>], f: impl Fn(&[Vec<f64>]) -> Vec<Vec<f64>>) {
        let normed = |x: &[Vec<f64>]| x.iter().map(|x| self.norm(norm, x)).collect::<Vec<_>>();
        let is_pre = self.shape.norm == "pre";
        let y = if is_pre { f(&normed(x)) } else { f(x) };
        x.iter_mut().zip(y).for_each(|(x, y)| x.iter_mut().zip(y).for_each(|(x, y)| *x += y));
        if !is_pre {
            let out = normed(x);
            x.clone_from_slice(&out);
        }
    }

    fn final_norm(&self, stack: &str, x: &mut [Vec<f64>]) {
        if self.shape.norm == "pre" {
            for row in x {
                *row = self.norm(&format!("{stack}.norm"), row);
            }
        }
    }

    fn norm(&self, name: &str, x: &[f64]) -> Vec<f64> {
        let (gain, bias) = (&self.tensors[&format!("{name}.weight")].1, &self.tensors[&format!("{name}.bias")].1);
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64;
        let unit = x.iter().map(|x| (x - mean) / (variance + 1e-5).sqrt());
        unit.zip(gain.iter().zip(bias)).map(|(x, (&g, &b))| x * f64::from(g) + f64::from(b)).collect()
    }

    fn multiply(&self, weight: &str, x: &[f64]) -> Vec<f64> {
        let rows = self.tensors[weight].1.chunks_exact(x.len());
        rows.map(|row| row.iter().zip(x).map(|(&w, x)| f64::from(w) * x).sum()).collect()
    }

    fn linear(&self, name: &str, x: &[f64]) -> Vec<f64> {
        let bias = &self.tensors[&format!("{name}.bias")].1;
        self.multiply(&format!("{name}.weight"), x).iter().zip(bias).map(|(y, &b)| y + f64::from(b)).collect()
    }

    fn feed_forward(&self, layer: &str, x: &mut [Vec<f64>]) {
        let name = format!("{layer}.feed_forward");
        self.sublayer(&format!("{name}_norm"), x, |y| {
            let inner =
                |y| self.linear(&format!("{name}.inner"), y).into_iter().map(|v| v.max(0.0)).collect::<Vec<_>>();
            y.iter().map(|y| self.linear(&format!("{name}.outer"), &inner(y))).collect()
        });
    }

    fn attention(&self, name: &str, x: &[Vec<f64>], seen: &[Vec<f64>], sees: Sees) -> Vec<Vec<f64>> {
        let project = |part: &str, x: &[Vec<f64>]| -> Vec<Vec<f64>> {
            x.iter().map(|x| self.linear(&format!("{name}.{part}"), x)).collect()
        };
        let (mut q, mut k, v) = (project("query", x), project("key", seen), project("value", seen));
        if self.shape.positions == "rope" && sees != Sees::Memory {
            self.rotate(&mut q);
            self.rotate(&mut k);
        }
        let d_head = self.shape.d_model / self.shape.n_heads;
        let attend = |position: usize, query: &[f64]| {
            let len = if sees == Sees::Past { position + 1 } else { k.len() };
            let mut out = vec![0.0; query.len()];
            for first in (0..query.len()).step_by(d_head) {
                let range = first..first + d_head;
                let dot =
                    |k: &[f64]| query[range.clone()].iter().zip(&k[range.clone()]).map(|(a, b)| a * b).sum::<f64>();
                let scores: Vec<f64> = k[..len].iter().map(|k| dot(k) / (d_head as f64).sqrt()).collect();
                for (weight, v) in log_softmax(&scores).into_iter().zip(&v) {
                    range.clone().for_each(|i| out[i] += weight.exp() * v[i]);
                }
            }
            self.linear(&format!("{name}.output"), &out)
        };
        q.iter().enumerate().map(|(position, query)| attend(position, query)).collect()
    }

    fn rotate(&self, x: &mut [Vec<f64>]) {
        let d_head = self.shape.d_model / self.shape.n_heads;
        let is_interleaved = self.shape.rope_layout == "interleaved";
        for (position, row) in x.iter_mut().enumerate() {
            for head in row.chunks_exact_mut(d_head) {
                for i in 0..d_head / 2 {
                    let (a, b) = if is_interleaved { (2 * i, 2 * i + 1) } else { (i, i + d_head / 2) };
                    let (sin, cos) = (position as f64 * 10_000_f64.powf(-2.0 * i as f64 / d_head as f64)).sin_cos();
                    (head[a], head[b]) = (head[a] * cos - head[b] * sin, head[a] * sin + head[b] * cos);
                }
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Sees {
    All,
    Past,
    Memory,
}

fn log_softmax(x: &[f64]) -> Vec<f64> {
    let greatest = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let log_sum = greatest + x.iter().map(|x| (x - greatest).exp()).sum::<f64>().ln();
    x.iter().map(|x| x - log_sum).collect()
}

/// Every tensor of a model.
fn names(shape: Shape) -> Vec<(String, Vec<usize>)> {
    let Shape { vocab, d_model: d, d_ff, .. } = shape;
    let tables: &[&str] =
        if shape.embeddings == "shared" { &["embedding"] } else { &["source_embedding", "target_embedding", "output"] };
    let mut names: Vec<_> = tables.iter().map(|table| (format!("{table}.weight"), vec![vocab, d])).collect();
    let mut pair = |name: String, dims: &[usize]| {
        names.push((format!("{name}.bias"), vec![dims[0]]));
        names.push((format!("{name}.weight"), dims.to_vec()));
    };
    let stacks: [(&str, &[&str]); 2] =
        [("encoder", &["self_attention"]), ("decoder", &["self_attention", "cross_attention"])];
    for ((stack, attentions), depth) in stacks.into_iter().zip(shape.layers) {
        for layer in (0..depth).map(|i| format!("{stack}.layers.{i}")) {
            for attention in attentions {
                pair(format!("{layer}.{attention}_norm"), &[d]);
                for part in ["query", "key", "value", "output"] {
                    pair(format!("{layer}.{attention}.{part}"), &[d, d]);
                }
            }
            pair(format!("{layer}.feed_forward_norm"), &[d]);
            pair(format!("{layer}.feed_forward.inner"), &[d_ff, d]);
            pair(format!("{layer}.feed_forward.outer"), &[d, d_ff]);
        }
        if shape.norm == "pre" {
            pair(format!("{stack}.norm"), &[d]);
        }
    }
    names
}

/// The bytes of a file that holds `tensors`.
pub(crate) fn to_safetensors(tensors: &Tensors) -> Vec<u8> {
    let mut bytes: Vec<(&str, &[usize], Vec<u8>)> = Vec::new();
    for (name, (dims, numbers)) in tensors {
        bytes.push((name, dims, numbers.iter().flat_map(|n| n.to_le_bytes()).collect()));
    }
    let view = |dims: &[usize], data| TensorView::new(Dtype::F32, dims.to_vec(), data).unwrap();
    serialize(bytes.iter().map(|(name, dims, data)| (*name, view(dims, data))), None).unwrap()
}
