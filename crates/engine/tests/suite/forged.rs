//! What users may put into a model directory: errors that name it, never panics.

use crate::reference::{Model, Shape, to_safetensors};
use umlaut_engine::{Engine, EngineError, Precision};
use umlaut_search::{StepDecoder, TokenId};

fn open(config: &str, weights: &[u8]) -> Result<Engine, String> {
    Engine::from_parts(config.as_bytes(), weights, Precision::Int8).map_err(|error| error.to_string())
}

fn refusal(config: &str, weights: &[u8]) -> String {
    open(config, weights).err().expect("the model must be refused")
}

#[test]
fn a_config_that_describes_no_model_is_refused_by_field() {
    let model = Model::new(Shape::default());
    let (config, weights) = (model.config(), model.weights());
    for (from, to, words) in [
        ("\"vocab\":37", "\"vocab\":0", "vocab is 0"),
        ("\"d_model\":24", "\"d_model\":25", "25 is not a multiple of n_heads 3"),
        ("\"n_heads\":3", "\"n_heads\":8", "24 over n_heads 8 is odd"),
        ("\"n_heads\":3", "\"n_heads\":0", "n_heads is 0"),
        ("\"n_heads\":3", "\"n_heads\":-3", "invalid value"),
        ("umlaut-1", "umlaut-9", "`umlaut-9`"),
        ("\"dropout\":0.1", "\"dropuot\":0.1", "unknown field `dropuot`"),
        ("\"eos_id\":2", "\"eos_id\":37", "eos_id 37 is outside the vocab of 37"),
        ("10000.0", "-1.0", "rope_theta is -1"),
        ("1e-5", "0.0", "norm_epsilon is 0"),
        ("\"pre\"", "\"both\"", "unknown variant `both`"),
        ("{\"format\"", "[\"format\"", "config.json"),
    ] {
        assert!(config.contains(from), "{from}");
        let message = refusal(&config.replacen(from, to, 1), &weights);
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn a_vocabulary_of_another_size_is_named_with_both_sizes() {
    let model = Model::new(Shape::default());
    let config = model.config().replace("\"vocab\":37", "\"vocab\":137");
    let message = refusal(&config, &model.weights());
    assert!(message.contains("[37, 24]") && message.contains("[137, 24]"), "{message}");
}

#[test]
fn sizes_beyond_all_memory_are_refused_before_memory_is_asked_for() {
    let model = Model::new(Shape::default());
    for (from, to) in
        [("\"vocab\":37", "\"vocab\":1000000000000000000"), ("\"d_ff\":40", "\"d_ff\":9000000000000000000")]
    {
        assert!(refusal(&model.config().replace(from, to), &model.weights()).contains("asks for"));
    }
    let deep = model.config().replace("\"encoder_layers\":2", "\"encoder_layers\":1000000000000");
    assert!(refusal(&deep, &model.weights()).contains("encoder.layers.2"));
}

#[test]
fn tensors_missing_superfluous_misshapen_or_no_numbers_are_named() {
    let model = Model::new(Shape::default());
    let names: Vec<String> = model.tensors.keys().cloned().collect();
    for name in names {
        let mut tensors = model.tensors.clone();
        let (dims, mut numbers) = tensors.remove(&name).unwrap();
        let missing = refusal(&model.config(), &to_safetensors(&tensors));
        assert!(missing.contains(&format!("no `{name}`")), "{missing}");

        tensors.insert(name.clone(), (vec![1, numbers.len()], numbers.clone()));
        let misshapen = refusal(&model.config(), &to_safetensors(&tensors));
        assert!(misshapen.contains(&name) && misshapen.contains("asks for"), "{misshapen}");

        *numbers.last_mut().unwrap() = f32::NAN;
        tensors.insert(name.clone(), (dims, numbers));
        let no_number = refusal(&model.config(), &to_safetensors(&tensors));
        assert!(no_number.contains(&name) && no_number.contains("NaN"), "{no_number}");
    }
    let mut tensors = model.tensors.clone();
    tensors.insert("encoder.layers.7.extra".into(), (vec![1], vec![0.0]));
    let message = refusal(&model.config(), &to_safetensors(&tensors));
    assert!(message.contains("encoder.layers.7.extra"), "{message}");
}

#[test]
fn a_damaged_file_is_refused_wherever_it_is_cut() {
    let model = Model::new(Shape { layers: [1, 1], ..Shape::default() });
    let (config, weights) = (model.config(), model.weights());
    for len in (0..weights.len()).step_by(97) {
        refusal(&config, &weights[..len]);
    }
    let mut longer = weights.clone();
    longer.push(0);
    assert!(refusal(&config, &longer).contains(&format!("{} bytes", longer.len())));
    let mut header = weights;
    header[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(refusal(&config, &header).contains("damaged header"));
}

#[test]
fn flipped_bits_never_panic() {
    let model = Model::new(Shape { layers: [1, 1], ..Shape::default() });
    let (config, weights) = (model.config(), model.weights());
    for at in 0..3000 {
        let mut forged = weights.clone();
        forged[at] ^= 1 << (at % 8);
        let _ = open(&config, &forged);
    }
    for at in 0..config.len() {
        let mut forged = config.clone().into_bytes();
        forged[at] ^= 1 << (at % 7);
        let _ = Engine::from_parts(&forged, &weights, Precision::F32);
    }
}

#[test]
fn sources_without_tokens_and_tokens_without_meaning_are_refused() {
    let model = Model::new(Shape::default());
    let engine = model.engine(Precision::F32);
    let refusal = |sources: &[&[TokenId]]| engine.decoder(sources).err().unwrap();
    assert!(matches!(refusal(&[&[TokenId(2)], &[]]), EngineError::EmptySource { index: 1 }));
    assert!(matches!(refusal(&[&[TokenId(37)]]), EngineError::Token { token: 37, vocab: 37 }));
    let mut decoder = engine.decoder(&[&[TokenId(2)]]).unwrap();
    let error = decoder.step(&[TokenId(u32::MAX)], 1, &mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("vocabulary of 37"), "{error}");
}

#[test]
fn a_directory_without_files_is_named() {
    let error = Engine::open(std::path::Path::new("no/such/model"), Precision::F32).err().unwrap();
    assert!(error.to_string().contains("config.json"), "{error}");
}
