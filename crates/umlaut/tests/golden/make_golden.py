"""Writes the golden fixtures of `umlaut import` beside this file: tiny models made by CTranslate2's own specification.

    pip install ctranslate2==4.8.5 sentencepiece==0.2.3 numpy
    python make_golden.py

`vocab.model` is a SentencePiece vocabulary of 32 pieces. Each folder is a model with random weights, its rows in another
order than that of `vocab.model`:
    pre_rope    pre-norm, half-split rotations, one table for all, float32
    post_sin    post-norm, interleaved sinusoids from 0, three tables, int8, source and target in different orders
`scores.json` holds, for each model, a source and a target as pieces, and the log-probability of each target piece, end of
sentence included, as CTranslate2 computes it in float32.
"""

import io
import json
import pathlib
import shutil

import ctranslate2
import numpy as np
import sentencepiece
from ctranslate2.specs import common_spec, transformer_spec

HERE = pathlib.Path(__file__).parent
VOCAB, D_MODEL, HEADS, D_FF, LAYERS = 32, 8, 2, 12, 1
TEXT = ["the cat sees a tree", "die katze sieht einen baum", "a tree sees the cat", "ein baum sieht die katze"]


def train_vocab():
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT), model_writer=model, model_type="bpe", vocab_size=VOCAB, unk_id=0, bos_id=1,
        eos_id=2, pad_id=3, normalization_rule_name="identity", num_threads=1, minloglevel=2,
    )
    (HERE / "vocab.model").write_bytes(model.getvalue())
    vocab = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    return [vocab.id_to_piece(i) for i in range(len(vocab))]


def sinusoids(positions):
    angle = np.arange(positions)[:, None] / 10000 ** (np.arange(0, D_MODEL, 2) / D_MODEL)
    return np.stack([np.sin(angle), np.cos(angle)], -1).reshape(positions, D_MODEL).astype(np.float32)


def fill(spec, random):
    """Gives a layer its weights; the shapes follow from its place."""
    def normal(*shape):
        return random.normal(0, 0.5, shape).astype(np.float32)

    def norm(layer):
        layer.gamma, layer.beta = 1 + normal(D_MODEL), normal(D_MODEL)

    def linear(layer, d_out, d_in):
        layer.weight, layer.bias = normal(d_out, d_in), normal(d_out)

    for layer in spec.layer:
        norm(layer.self_attention.layer_norm)
        linear(layer.self_attention.linear[0], 3 * D_MODEL, D_MODEL)
        linear(layer.self_attention.linear[1], D_MODEL, D_MODEL)
        if hasattr(layer, "attention"):
            norm(layer.attention.layer_norm)
            for part, rows in zip(layer.attention.linear, [1, 2, 1]):
                linear(part, rows * D_MODEL, D_MODEL)
        norm(layer.ffn.layer_norm)
        linear(layer.ffn.linear_0, D_FF, D_MODEL)
        linear(layer.ffn.linear_1, D_MODEL, D_FF)
    if hasattr(spec, "layer_norm"):
        norm(spec.layer_norm)


def build(name, pieces, seed, pre_norm, rotated, tables):
    random = np.random.default_rng(seed)
    rotary = dict(rotary_dim=0, rotary_interleave=False, rotary_base=10000) if rotated else {}
    kind = dict(num_heads=HEADS, pre_norm=pre_norm, activation=common_spec.Activation.RELU, **rotary)
    encoder = transformer_spec.TransformerEncoderSpec(LAYERS, **kind)
    decoder = transformer_spec.TransformerDecoderSpec(LAYERS, **kind)
    for stack in [encoder, decoder]:
        fill(stack, random)
        if not rotated:
            stack.position_encodings.encodings = sinusoids(16)
    draw = [random.normal(0, 0.5, (VOCAB, D_MODEL)).astype(np.float32) for _ in range(tables)]
    encoder.embeddings[0].weight, decoder.embeddings.weight, decoder.projection.weight = (draw * 3)[:3]
    decoder.projection.bias = np.zeros(VOCAB, np.float32)
    spec = transformer_spec.TransformerSpec(encoder, decoder)
    source = [pieces[i] for i in random.permutation(VOCAB)]
    spec.register_source_vocabulary(source)
    spec.register_target_vocabulary(source if tables == 1 else [pieces[i] for i in random.permutation(VOCAB)])
    spec.config.add_source_eos = True
    spec.config.decoder_start_token = "<s>"
    spec.validate()
    spec.optimize(quantization=None if tables == 1 else "int8")
    shutil.rmtree(HERE / name, ignore_errors=True)
    (HERE / name).mkdir()
    spec.save(str(HERE / name))


def score(name, pieces):
    translator = ctranslate2.Translator(str(HERE / name), compute_type="float32", inter_threads=1, intra_threads=1)
    source, target = pieces[5:12] + pieces[20:22], pieces[30:24:-1] + [pieces[9]]
    [result] = translator.score_batch([source], [target])
    assert len(result.log_probs) == len(target) + 1
    return {"source": source, "target": target, "log_probs": [round(p, 5) for p in result.log_probs]}


def main():
    pieces = train_vocab()
    build("pre_rope", pieces, 1, pre_norm=True, rotated=True, tables=1)
    build("post_sin", pieces, 2, pre_norm=False, rotated=False, tables=3)
    scores = {name: score(name, pieces) for name in ["pre_rope", "post_sin"]}
    (HERE / "scores.json").write_text(json.dumps(scores, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
