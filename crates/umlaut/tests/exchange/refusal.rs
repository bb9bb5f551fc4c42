//! What cannot be represented or is damaged is refused by name, and leaves nothing behind.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use umlaut_model::directory::{Storage, write_arrays};
use umlaut_model::parameters::Array;

use crate::kitchen::{PLAIN, Shape, fail, golden, kitchen, succeed, weights};

/// A folder with a copy of a golden model as `them` and its vocabulary.
fn copy_of(name: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("them")).unwrap();
    for entry in fs::read_dir(golden(name)).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), dir.path().join("them").join(entry.file_name())).unwrap();
    }
    fs::copy(golden("vocab.model"), dir.path().join("v.model")).unwrap();
    dir
}

const IMPORT: &str = "import them --from ctranslate2 --vocab v.model -o out";

/// Where the description of a variable (rank, dimensions, type, length) begins.
fn place_of(bytes: &[u8], name: &str) -> usize {
    let text = [name.as_bytes(), &[0]].concat();
    bytes.windows(text.len()).position(|window| window == text).unwrap() + text.len()
}

fn edit(path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

#[test]
fn attributes_that_have_no_place_are_named_with_the_reason() {
    for (name, value, reason) in [
        ("encoder/activation", 2, "only ReLU"),
        ("decoder/activation", 3, "only ReLU"),
        ("encoder/scale_embeddings", 0, "scaled by sqrt(d_model)"),
        ("encoder/multi_query_attention", 1, "keys and values of its own"),
        ("decoder/alibi", 1, "no position biases"),
        ("decoder/start_from_zero_embedding", 1, "is embedded here"),
        ("decoder/alignment_layer", 0, "alignments are not kept"),
        ("decoder/num_heads", 1, "both stacks have the same"),
        ("decoder/pre_norm", 0, "alike here"),
        ("encoder/layer_0/self_attention/rotary_dim", 2, "all is rotated"),
        ("decoder/layer_0/self_attention/rotary_interleave", 1, "is not the first layer's"),
    ] {
        let dir = copy_of("pre_rope");
        edit(&dir.path().join("them/model.bin"), |bytes| {
            let at = place_of(bytes, name) + 6;
            bytes[at] = value;
        });
        let said = fail(dir.path(), IMPORT);
        assert!(said.contains(name.rsplit('/').next().unwrap()) && said.contains(reason), "{name}: {said}");
    }
}

#[test]
fn variables_that_have_no_place_or_are_missing_are_named() {
    for (model, name, other, reason) in [
        ("pre_rope", "encoder/layer_0/ffn/linear_1/bias", "encoder/layer_0/ffn/linear_1/bios", "bias` is missing"),
        ("pre_rope", "decoder/layer_norm/beta", "decoder/layer_norm/beto", "beta` is missing"),
        ("pre_rope", "decoder/alibi_use_positive_positions", "decoder/layernorm_embedding/gammaaaa", "not normalised"),
        ("pre_rope", "decoder/start_from_zero_embedding", "decoder/relative_position_keys___", "no relative positions"),
        ("post_sin", "decoder/start_from_zero_embedding", "decoder/a/relative_position_keys_", "no relative positions"),
        ("pre_rope", "encoder/multi_query_attention", "encoder/layer_0/ffn/lin_noact", "no gates"),
        ("pre_rope", "encoder/embeddings_merge", "encoder/embeddings_1/www", "one embedding"),
        ("pre_rope", "decoder/scale_alibi", "decoder/scale_alib_", "no part of the Transformers"),
        ("post_sin", "encoder/position_encodings/encodings", "encoder/position_encodings/encodingz", "begin at 1"),
    ] {
        let dir = copy_of(model);
        edit(&dir.path().join("them/model.bin"), |bytes| {
            let at = place_of(bytes, name) - name.len() - 1;
            bytes[at..at + name.len()].copy_from_slice(other.as_bytes());
        });
        let said = fail(dir.path(), IMPORT);
        assert!(said.contains(reason), "{name}: {said}");
    }
}

#[test]
fn learned_positions_and_a_biased_output_are_told_by_their_numbers() {
    for (model, name, rank, reason) in [
        ("post_sin", "decoder/position_encodings/encodings", 2, "is learned"),
        ("pre_rope", "decoder/projection/bias", 1, "has no bias here"),
    ] {
        let dir = copy_of(model);
        edit(&dir.path().join("them/model.bin"), |bytes| {
            let at = place_of(bytes, name) + 6 + 4 * rank;
            bytes[at + 4..at + 8].copy_from_slice(&0.25_f32.to_le_bytes());
        });
        let said = fail(dir.path(), IMPORT);
        assert!(said.contains(name.rsplit('/').next().unwrap()) && said.contains(reason), "{said}");
    }
}

#[test]
fn numbers_that_are_none_are_named_by_the_array() {
    let dir = copy_of("pre_rope");
    edit(&dir.path().join("them/model.bin"), |bytes| {
        let at = place_of(bytes, "decoder/layer_0/ffn/layer_norm/gamma") + 10;
        bytes[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    });
    assert!(fail(dir.path(), IMPORT).contains("`decoder.layers.0.feed_forward_norm.weight` holds NaN"));
}

#[test]
fn settings_of_ctranslate2_that_have_no_place_are_named() {
    for (from, to, reason) in [
        (r#""add_source_eos": true"#, r#""add_source_eos": false"#, "add_source_eos"),
        (r#""add_source_bos": false"#, r#""add_source_bos": true"#, "add_source_bos"),
        (r#""decoder_start_token": "<s>""#, r#""decoder_start_token": "</s>""#, "here it is `<s>`"),
        (r#""decoder_start_token": "<s>""#, r#""decoder_start_token": null"#, "for the caller to give"),
        (r#""multi_query_attention": false"#, r#""multi_query_attention": true"#, "multi_query_attention"),
        (r#""unk_token""#, r#""quantization_bits": 4, "unk_token""#, "quantization_bits"),
    ] {
        let dir = copy_of("pre_rope");
        let path = dir.path().join("them/config.json");
        let config = fs::read_to_string(&path).unwrap();
        assert!(config.contains(from), "{from}");
        fs::write(&path, config.replace(from, to)).unwrap();
        let said = fail(dir.path(), IMPORT);
        assert!(said.contains(reason), "{said}");
    }
}

#[test]
fn a_vocabulary_with_other_pieces_is_refused_by_the_piece() {
    let other = |from: &str, to: &str| {
        let dir = copy_of("pre_rope");
        let path = dir.path().join("them/shared_vocabulary.json");
        let pieces = fs::read_to_string(&path).unwrap();
        assert!(pieces.contains(from));
        fs::write(&path, pieces.replace(from, to)).unwrap();
        fail(dir.path(), IMPORT)
    };
    assert!(other("\"au\"", "\"zz\"").contains("has no `au`"));
    assert!(other("\"au\"", "\"ei\"").contains("`ei` stands twice"));
    assert!(other("\"au\"", "\"au\",\"zz\"").contains("has `zz`, which --vocab has not"));
    let dir = copy_of("pre_rope");
    fs::remove_file(dir.path().join("them/shared_vocabulary.json")).unwrap();
    assert!(fail(dir.path(), IMPORT).contains("source_vocabulary.json"));
}

#[test]
fn a_layout_that_contradicts_the_model_is_refused() {
    let dir = copy_of("pre_rope");
    let said = fail(dir.path(), &IMPORT.replace("-o", "--rope-layout interleaved -o"));
    assert!(said.contains("are half-split"), "{said}");
    let dir = copy_of("post_sin");
    assert!(fail(dir.path(), &IMPORT.replace("-o", "--rope-layout interleaved -o")).contains("no rotations"));
}

#[test]
fn a_damaged_model_is_refused_and_leaves_nothing() {
    let dir = copy_of("post_sin");
    let path = dir.path().join("them/model.bin");
    let whole = fs::read(&path).unwrap();
    for len in (0..whole.len()).step_by(whole.len() / 40) {
        fs::write(&path, &whole[..len]).unwrap();
        assert!(fail(dir.path(), IMPORT).contains("model.bin"), "{len}");
    }
    // Counts, sizes and lengths that claim more than there is memory.
    for at in (0..whole.len() - 4).step_by(whole.len() / 60) {
        let mut forged = whole.clone();
        forged[at..at + 4].fill(0xff);
        fs::write(&path, forged).unwrap();
        let output = crate::kitchen::umlaut(dir.path(), &IMPORT.split(' ').collect::<Vec<_>>());
        assert!(matches!(output.status.code(), Some(0 | 2)), "{at}: {output:?}");
        let _ = fs::remove_dir_all(dir.path().join("out"));
    }
}

#[test]
fn settings_of_fairseq_that_have_no_place_are_named() {
    let rope = kitchen(PLAIN);
    let sinusoidal = kitchen(Shape { positions: "sinusoidal", ..PLAIN });
    for (dir, from, to, reason) in [
        (&rope, r#""relu""#, r#""gelu""#, "only relu"),
        (&rope, r#""no_scale_embedding": false"#, r#""no_scale_embedding": true"#, "sqrt(d_model)"),
        (&rope, r#""encoder_learned_pos": false"#, r#""encoder_learned_pos": true"#, "learned positions"),
        (&rope, r#""layernorm_embedding": false"#, r#""layernorm_embedding": true"#, "not normalised"),
        (&rope, r#""add_source_eos": true"#, r#""add_source_eos": false"#, "add_source_eos"),
        (&rope, r#""decoder_start_token": "<s>""#, r#""decoder_start_token": "</s>""#, "here at `<s>`"),
        (&rope, r#""decoder_attention_heads": 2"#, r#""decoder_attention_heads": 4"#, "attention_heads"),
        (&rope, r#""decoder_normalize_before": true"#, r#""decoder_normalize_before": false"#, "normalize_before"),
        (&rope, r#""encoder_layers": 2"#, r#""encoder_layers": 2000000000000"#, "encoder.layers.2."),
        (&rope, r#""encoder_layers": 2"#, r#""encoder_layers": 1"#, "encoder.layers.1"),
        (&rope, r#""encoder_layers": 2,"#, "", "encoder_layers"),
        (&rope, r#""rope_layout": "interleaved","#, "", "--rope-layout"),
        (&rope, r#""vocab_size": 32"#, r#""vocab_size": 33"#, "33"),
        (&rope, r#""rope_theta": 10000.0"#, r#""rope_theta": -1.0"#, "rope_theta is -1"),
        (&rope, r#""dropout": 0.1"#, r#""dropuot": 0.1"#, "dropuot"),
        (&sinusoidal, r#""first_position": 0"#, r#""first_position": 2"#, "begin at 0"),
        (&sinusoidal, r#""sinusoid_layout": "interleaved""#, r#""sinusoid_layout": "halves""#, "interleaved here"),
    ] {
        succeed(dir.path(), "export model --to safetensors -o them");
        let path = dir.path().join("them/config.json");
        let config = fs::read_to_string(&path).unwrap();
        assert!(config.contains(from), "{from} in {config}");
        fs::write(&path, config.replace(from, to)).unwrap();
        let said = fail(dir.path(), "import them --from fairseq --vocab model/vocab.model -o out");
        assert!(said.contains(reason), "{to}: {said}");
        fs::remove_dir_all(dir.path().join("them")).unwrap();
    }
}

#[test]
fn sizes_beyond_all_memory_are_refused() {
    let dir = kitchen(PLAIN);
    succeed(dir.path(), "export model --to safetensors -o them");
    let path = dir.path().join("them/config.json");
    let config = fs::read_to_string(&path).unwrap();
    for field in ["embed_dim\": 16", "ffn_embed_dim\": 20", "attention_heads\": 2"] {
        let huge = format!("{}: 9223372036854775808", field.split(':').next().unwrap());
        assert!(config.contains(field));
        fs::write(&path, config.replace(field, &huge)).unwrap();
        fail(dir.path(), "import them --from fairseq --vocab model/vocab.model -o out");
    }
}

#[test]
fn tensors_of_fairseq_that_are_missing_or_have_no_place_are_named() {
    let dir = kitchen(PLAIN);
    succeed(dir.path(), "export model --to safetensors -o them");
    let (path, whole) = (dir.path().join("them/model.safetensors"), weights(&dir.path().join("them")));
    let refusal = |arrays: &_| {
        write_arrays(arrays, &path, Storage::F32).unwrap();
        fail(dir.path(), "import them --from fairseq --vocab model/vocab.model -o out")
    };
    let mut arrays = whole.clone();
    arrays.remove("decoder.layers.0.encoder_attn.k_proj.bias");
    assert!(refusal(&arrays).contains("`decoder.layers.0.encoder_attn.k_proj.bias` is missing"));
    for (name, reason) in [
        ("encoder.embed_positions.weight", "learned positions"),
        ("encoder.embed_positions._float_tensor", "cosines in the other"),
        ("decoder.layernorm_embedding.weight", "normalises embeddings"),
        ("decoder.adaptive_softmax.head", "has no place"),
    ] {
        let mut arrays = whole.clone();
        arrays.insert(name.into(), Array { shape: vec![1], data: vec![0.0] });
        let said = refusal(&arrays);
        assert!(said.contains(name) && said.contains(reason), "{said}");
    }
    let mut arrays = whole.clone();
    arrays.get_mut("decoder.output_projection.weight").unwrap().data[3] += 1.0;
    assert!(refusal(&arrays).contains("differs from `encoder.embed_tokens.weight`"));
    // A shared table need not be stored three times.
    arrays.remove("decoder.output_projection.weight");
    write_arrays(&arrays, &path, Storage::F32).unwrap();
    succeed(dir.path(), "import them --from fairseq --vocab model/vocab.model -o out");
    assert_eq!(weights(&dir.path().join("out")), weights(&dir.path().join("model")));
}

#[test]
fn nothing_is_written_over_and_options_that_mean_nothing_are_refused() {
    let dir = kitchen(Shape { positions: "sinusoidal", ..PLAIN });
    for (line, reason) in [
        ("export model --to int8 -o model", "exists already"),
        ("import model --from fairseq --vocab model/vocab.model -o model", "exists already"),
        ("export model --to safetensors --type int8 -o out", "--type is for"),
        ("export model --to int8 --rope-layout half-split -o out", "keeps the model's"),
        ("export model --to ctranslate2 --rope-layout half-split -o out", "no rotations"),
        ("export nothing --to safetensors -o out", "nothing"),
        ("export nothing --to int8 -o out", "nothing"),
        ("import nothing --from ctranslate2 --vocab model/vocab.model -o out", "nothing"),
        ("import model --from fairseq --vocab model/config.json -o out", "config.json"),
    ] {
        let said = fail(dir.path(), line);
        assert!(said.contains(reason), "{line}: {said}");
    }
}

#[test]
fn a_model_that_is_no_whole_one_is_not_exported() {
    let dir = kitchen(PLAIN);
    let path = dir.path().join("model/model.safetensors");
    let whole = weights(&dir.path().join("model"));
    for to in ["safetensors", "ctranslate2"] {
        let line = format!("export model --to {to} -o out");
        let mut arrays = whole.clone();
        arrays.remove("encoder.norm.bias");
        write_arrays(&arrays, &path, Storage::F32).unwrap();
        assert!(fail(dir.path(), &line).contains("`encoder.norm.bias` is missing"));
        arrays.clone_from(&whole);
        arrays.get_mut("embedding.weight").unwrap().data[5] = f32::INFINITY;
        write_arrays(&arrays, &path, Storage::F32).unwrap();
        assert!(fail(dir.path(), &line).contains("`embedding.weight` holds NaN or infinity"));
        arrays.clone_from(&whole);
        arrays.insert("encoder.norm.scale".into(), Array { shape: vec![1], data: vec![0.0] });
        write_arrays(&arrays, &path, Storage::F32).unwrap();
        assert!(fail(dir.path(), &line).contains("`encoder.norm.scale` is no array of this model"));
    }
    write_arrays(&whole, &path, Storage::F32).unwrap();
    fs::remove_file(dir.path().join("model/vocab.model")).unwrap();
    assert!(fail(dir.path(), "export model --to ctranslate2 -o out").contains("vocab.model"));
}
