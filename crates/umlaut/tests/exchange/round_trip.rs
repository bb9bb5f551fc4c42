//! What goes out comes back.

use std::fs;

use umlaut_engine::Precision;
use umlaut_model::directory::{Storage, read_arrays, read_config};

use crate::kitchen::{PLAIN, Shape, candidates, kitchen, kitchen_of, succeed, umlaut, weights};

const FORMATS: [(&str, &str); 2] = [("ctranslate2", "ctranslate2"), ("safetensors", "fairseq")];

fn shapes() -> Vec<Shape> {
    let mut shapes = Vec::new();
    for norm in ["pre", "post"] {
        for embeddings in ["shared", "separate"] {
            for (positions, rope_layout) in
                [("rope", "interleaved"), ("rope", "half_split"), ("sinusoidal", "interleaved")]
            {
                shapes.push(Shape { norm, positions, rope_layout, embeddings });
            }
        }
    }
    shapes
}

#[test]
fn an_exported_model_comes_back_to_the_bit() {
    for shape in shapes() {
        let dir = kitchen(shape);
        let model = dir.path().join("model");
        let layouts: &[&str] = if shape.positions == "rope" {
            &["", " --rope-layout interleaved", " --rope-layout half-split"]
        } else {
            &[""]
        };
        for (to, from) in FORMATS {
            for layout in layouts {
                let (there, back) = (dir.path().join("there"), dir.path().join("back"));
                succeed(dir.path(), &format!("export model --to {to}{layout} -o there"));
                let vocab = "--vocab there/vocab.model";
                let said = succeed(dir.path(), &format!("import there --from {from} {vocab}{layout} -o back"));
                assert_eq!(said.contains("half-split"), layout.contains("half-split"), "{said}");
                if shape.rope_layout == "interleaved" {
                    assert_eq!(weights(&back), weights(&model), "{shape:?} {to}{layout}");
                }
                let config = read_config(&back).unwrap();
                assert_eq!(config.rope_layout, umlaut_model::RopeLayout::Interleaved);
                assert_eq!(config.embeddings, read_config(&model).unwrap().embeddings);
                assert_eq!(
                    candidates(&back, Precision::F32),
                    candidates(&model, Precision::F32),
                    "{shape:?} {to}{layout}"
                );
                for folder in [there, back] {
                    fs::remove_dir_all(folder).unwrap();
                }
            }
        }
    }
}

#[test]
fn a_half_split_model_comes_back_to_the_bit_when_it_is_laid_out_so_again() {
    let dir = kitchen(Shape { rope_layout: "half_split", ..PLAIN });
    for (to, from) in FORMATS {
        succeed(dir.path(), &format!("export model --to {to} -o pairs"));
        succeed(dir.path(), &format!("import pairs --from {from} --vocab model/vocab.model -o back"));
        succeed(dir.path(), "export model --to safetensors --rope-layout half-split -o a");
        succeed(dir.path(), "export back --to safetensors --rope-layout half-split -o b");
        let arrays = |folder: &str| read_arrays(&dir.path().join(folder).join("model.safetensors")).unwrap();
        assert_eq!(arrays("a"), arrays("b"));
        // Half-split rows stand as they stood: no row was turned on the way out.
        let ours = weights(&dir.path().join("model"));
        assert_eq!(
            arrays("a")["encoder.layers.1.self_attn.q_proj.weight"],
            ours["encoder.layers.1.self_attention.query.weight"]
        );
        assert_ne!(weights(&dir.path().join("back")), ours);
        for folder in ["pairs", "back", "a", "b"] {
            fs::remove_dir_all(dir.path().join(folder)).unwrap();
        }
    }
}

#[test]
fn int8_computes_what_int8_of_the_original_does() {
    for shape in [PLAIN, Shape { norm: "post", embeddings: "separate", ..PLAIN }] {
        let dir = kitchen(shape);
        succeed(dir.path(), "export model --to int8 -o small");
        let (model, small) = (dir.path().join("model"), dir.path().join("small"));
        assert_eq!(candidates(&small, Precision::Int8), candidates(&model, Precision::Int8));
        assert_eq!(fs::read(small.join("card.md")).unwrap(), b"# A model\n");
        let bytes = |name: &str| fs::metadata(dir.path().join(name).join("model.safetensors")).unwrap().len();
        assert!(bytes("small") < bytes("model"));
        let parameters = |name: &str| {
            let said = String::from_utf8(umlaut(dir.path(), &["info", name]).stdout).unwrap();
            said.lines().next().unwrap().to_owned()
        };
        assert_eq!(parameters("small"), parameters("model"));
    }
}

#[test]
fn models_stored_in_fewer_bytes_are_exported_as_the_numbers_they_stand_for() {
    let dir = kitchen_of(PLAIN, Storage::F16);
    succeed(dir.path(), "export model --to int8 -o small");
    for name in ["model", "small"] {
        for (to, from) in FORMATS {
            let there = format!("{name}-{to}");
            succeed(dir.path(), &format!("export {name} --to {to} -o {there}"));
            succeed(dir.path(), &format!("import {there} --from {from} --vocab model/vocab.model -o {there}-back"));
            let back = dir.path().join(format!("{there}-back"));
            assert_eq!(weights(&back), weights(&dir.path().join(name)));
            let want = candidates(&dir.path().join(name), Precision::F32);
            let off = want.iter().zip(candidates(&back, Precision::F32)).map(|(a, b)| (a.log_prob - b.log_prob).abs());
            assert!(off.fold(0.0, f32::max) < 1e-5);
        }
    }
}

#[test]
fn int8_for_ctranslate2_is_within_half_a_step_of_each_row() {
    let dir = kitchen(Shape { embeddings: "separate", ..PLAIN });
    succeed(dir.path(), "export model --to ctranslate2 -o whole");
    succeed(dir.path(), "export model --to ctranslate2 --type int8 -o small");
    succeed(dir.path(), "import small --from ctranslate2 --vocab model/vocab.model -o back");
    let bytes = |name: &str| fs::metadata(dir.path().join(name).join("model.bin")).unwrap().len();
    assert!(bytes("small") * 2 < bytes("whole"));
    let back = weights(&dir.path().join("back"));
    for (name, array) in weights(&dir.path().join("model")) {
        let width = array.shape.get(1).copied().unwrap_or(array.data.len());
        for (row, restored) in array.data.chunks(width).zip(back[&name].data.chunks(width)) {
            let greatest = row.iter().fold(0.0, |greatest: f32, x| greatest.max(x.abs()));
            let step = if array.shape.len() == 2 { greatest / 127.0 } else { 0.0 };
            assert!(row.iter().zip(restored).all(|(a, b)| (a - b).abs() <= step * 0.501), "{name}");
        }
    }
}

#[test]
fn records_and_vocabulary_go_with_a_model_and_fairseq_knows_the_names() {
    let dir = kitchen(PLAIN);
    succeed(dir.path(), "export model --to safetensors -o there");
    let there = dir.path().join("there");
    assert_eq!(fs::read(there.join("card.md")).unwrap(), b"# A model\n");
    let pieces: Vec<String> = serde_json::from_slice(&fs::read(there.join("vocabulary.json")).unwrap()).unwrap();
    assert_eq!((pieces.len(), pieces[0].as_str(), pieces[3].as_str()), (32, "<unk>", "<pad>"));
    let arrays = weights(&there);
    for name in [
        "encoder.embed_tokens.weight",
        "decoder.output_projection.weight",
        "encoder.layers.0.self_attn.q_proj.weight",
        "encoder.layers.1.fc1.bias",
        "encoder.layers.1.final_layer_norm.weight",
        "encoder.layer_norm.bias",
        "decoder.layers.0.encoder_attn.out_proj.weight",
        "decoder.layers.0.encoder_attn_layer_norm.weight",
        "decoder.layers.0.self_attn_layer_norm.weight",
        "decoder.layers.0.fc2.weight",
    ] {
        assert!(arrays.contains_key(name), "{name}");
    }
    let config = fs::read_to_string(there.join("config.json")).unwrap();
    assert!(
        config.contains(r#""rope_layout": "interleaved""#) && config.contains(r#""encoder_layers": 2"#),
        "{config}"
    );
}
