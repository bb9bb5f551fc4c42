//! M0: a tiny model directory with a vocabulary of a few sentences and random weights.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use safetensors::tensor::{Dtype, TensorView, serialize_to_file};
use umlaut_text::vocab::VocabRecipe;

const D_MODEL: usize = 16;
const D_FF: usize = 32;
const PIECES: usize = 300;
const EOS: usize = 2;

const SENTENCES: &str = "\
The cat sits on the mat. A dog runs in the park.
Die Katze sitzt auf der Matte. Ein Hund läuft im Park.
Two people walk along the street and talk to each other.
Zwei Menschen gehen die Straße entlang und sprechen miteinander.
";

/// The model directory, made once.
pub(crate) fn m0() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("m0");
        fs::create_dir_all(&folder).unwrap();
        write_vocab(&folder);
        fs::write(folder.join("config.json"), config(PIECES)).unwrap();
        write_weights(&folder.join("model.safetensors"));
        folder
    })
}

/// A copy of the model directory that a test may spoil.
pub(crate) fn copy_of_m0(folder: &Path) {
    for file in ["config.json", "model.safetensors", "vocab.model"] {
        fs::copy(m0().join(file), folder.join(file)).unwrap();
    }
}

pub(crate) fn config(vocab: usize) -> String {
    format!(
        r#"{{"format":"umlaut-1","vocab":{vocab},"d_model":{D_MODEL},"n_heads":2,"d_ff":{D_FF},"encoder_layers":2,
"decoder_layers":1,"norm":"pre","positions":"rope","rope_theta":10000.0,"rope_layout":"interleaved",
"embeddings":"separate","norm_epsilon":1e-5,"dropout":0.1,"attention_dropout":0.0,"activation_dropout":0.0,
"unk_id":0,"bos_id":1,"eos_id":2,"pad_id":3}}"#
    )
}

fn write_vocab(folder: &Path) {
    let text = folder.join("sentences.txt");
    fs::write(&text, SENTENCES).unwrap();
    let recipe = VocabRecipe { size: PIECES, ..VocabRecipe::default() };
    fs::write(folder.join("vocab.model"), recipe.train(&[text]).unwrap()).unwrap();
}

/// Random weights by name.
struct Weights {
    tensors: BTreeMap<String, (Vec<usize>, Vec<f32>)>,
    state: u64,
}

fn write_weights(path: &Path) {
    let mut weights = Weights { tensors: BTreeMap::new(), state: 1 };
    for (name, scale) in [("source_embedding", 0.5), ("target_embedding", 0.5), ("output", 1.5)] {
        weights.fill(format!("{name}.weight"), &[PIECES, D_MODEL], scale);
    }
    for layer in ["encoder.layers.0", "encoder.layers.1", "decoder.layers.0"] {
        weights.attention(&format!("{layer}.self_attention"));
        weights.linear(&format!("{layer}.feed_forward.inner"), D_FF, D_MODEL);
        weights.linear(&format!("{layer}.feed_forward.outer"), D_MODEL, D_FF);
        weights.norm(&format!("{layer}.feed_forward_norm"), 0.0);
    }
    weights.attention("decoder.layers.0.cross_attention");
    weights.norm("encoder.norm", 0.0);
    // Normalised states sum to 0, so that this bias and this row give EOS the same logit, 8, at each step: about what
    // the best other token has, so that translations end, some soon, some late and some not at all.
    weights.norm("decoder.norm", 0.5);
    let (_, output) = weights.tensors.get_mut("output.weight").unwrap();
    output[EOS * D_MODEL..(EOS + 1) * D_MODEL].fill(8.0 / (0.5 * D_MODEL as f32));
    weights.write(path);
}

impl Weights {
    fn attention(&mut self, name: &str) {
        for projection in ["query", "key", "value", "output"] {
            self.linear(&format!("{name}.{projection}"), D_MODEL, D_MODEL);
        }
        self.norm(&format!("{name}_norm"), 0.0);
    }

    fn linear(&mut self, name: &str, d_out: usize, d_in: usize) {
        self.fill(format!("{name}.weight"), &[d_out, d_in], 0.5);
        self.fill(format!("{name}.bias"), &[d_out], 0.1);
    }

    fn norm(&mut self, name: &str, bias: f32) {
        self.tensors.insert(format!("{name}.weight"), (vec![D_MODEL], vec![1.0; D_MODEL]));
        self.tensors.insert(format!("{name}.bias"), (vec![D_MODEL], vec![bias; D_MODEL]));
    }

    /// Uniform in plus or minus `scale`.
    fn fill(&mut self, name: String, shape: &[usize], scale: f32) {
        let values = (0..shape.iter().product()).map(|_| scale * self.draw()).collect();
        self.tensors.insert(name, (shape.to_vec(), values));
    }

    /// A number from -1 to 1, by Knuth's MMIX generator.
    fn draw(&mut self) -> f32 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 40) as f32 / (1 << 23) as f32 - 1.0
    }

    fn write(&self, path: &Path) {
        let bytes: BTreeMap<&str, Vec<u8>> = self
            .tensors
            .iter()
            .map(|(name, (_, values))| (name.as_str(), values.iter().flat_map(|value| value.to_le_bytes()).collect()))
            .collect();
        let view = |(name, (shape, _)): (&String, &(Vec<usize>, Vec<f32>))| {
            (name.clone(), TensorView::new(Dtype::F32, shape.clone(), &bytes[name.as_str()]).unwrap())
        };
        serialize_to_file(self.tensors.iter().map(view), None, path).unwrap();
    }
}
