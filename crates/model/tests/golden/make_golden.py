"""Writes the golden fixtures of the Transformer and of RoPE beside this file.

    pip install torch numpy safetensors
    python make_golden.py

`reference.py` writes the model once more from its equations, in plain tensor operations; gradients are PyTorch's
autograd and the update is torch.optim.Adam. Parameters are float32 numbers, everything is computed in float64, and
results are rounded to float32 once, when stored. Dropout is 0.

For each case, `<case>.json` is the configuration of a model directory and `<case>.safetensors` holds
    <name>            the parameters, under the names of a model directory
    src               [batch, src_len]           source ids, each sentence ends with eos, then pads
    tgt_in, tgt_out   [batch, tgt_len]           bos + target, and target + eos, then pads
    memory            [batch, src_len, d_model]  encoder output
    logits            [batch, tgt_len, vocab]
    token_nll         [batch, tgt_len]           -log p(tgt_out), in nats; 0 at pads
    nll               [1]                        its mean over the real target tokens
    loss              [1]                        label-smoothed cross-entropy, mean over the real target tokens
    grad.<name>       gradient of `loss`
    adam.<name>       the parameters after one step of Adam on this batch
    adam2.<name>      the parameters after a second step on the same batch
Label smoothing is 0.1, with epsilon/V on each of the V classes. Adam has lr 1e-3, betas 0.9 and 0.98, epsilon 1e-8,
bias correction and no weight decay. Ids are int64, all else float32.

`rope.json` holds rotated vectors in both layouts, dot products that depend on the distance alone, and the long-term
decay B(delta) of RoFormer, section 3.4.3.

Three things to know when comparing:
- Rows at pads are well defined but mean nothing. Source pads are hidden as keys in the encoder and in
  cross-attention; target pads are hidden from no one but by causality, and are left out of the loss. Compare real
  positions.
- Where no rotation follows, a key bias adds the same number to every score of a query, so its gradient is 0. In
  float32 it comes out as noise of a few 1e-9, which Adam, with epsilon 1e-8, turns into visible steps. Leave these
  biases out of `adam*`: `*.cross_attention.key.bias` always, `*.self_attention.key.bias` too when positions are
  sinusoidal.
- The matrix of `shared` embeddings is stored once, and its gradient is the sum over its three uses.
"""

import json
import math
from pathlib import Path

import torch
from safetensors.torch import save_file

from reference import PAD, angles, forward, parameter_shapes, rotate_half_split, rotate_interleaved

HERE = Path(__file__).parent
UNK, BOS, EOS = 0, 1, 2
ADAM = {"lr": 1e-3, "betas": (0.9, 0.98), "eps": 1e-8, "weight_decay": 0.0}

COMMON = {
    "format": "umlaut-1",
    "vocab": 23,
    "d_model": 16,
    "n_heads": 4,
    "d_ff": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "rope_theta": 10000.0,
    "rope_layout": "interleaved",
    "norm_epsilon": 1e-5,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "activation_dropout": 0.0,
    "unk_id": UNK,
    "bos_id": BOS,
    "eos_id": EOS,
    "pad_id": PAD,
}
CASES = {
    "pre_rope_shared": COMMON | {"norm": "pre", "positions": "rope", "embeddings": "shared"},
    "post_sinusoidal_separate": COMMON | {"norm": "post", "positions": "sinusoidal", "embeddings": "separate"},
}

# Lengths with eos: 7, 4, 2 for the source and 6, 3, 5 for the target. Repeated ids make embedding gradients add up.
SOURCES = [[5, 9, 14, 9, 22, 7, EOS], [17, UNK, 4, EOS], [11, EOS]]
TARGETS = [[6, 13, 13, 20, 4, EOS], [10, 5, EOS], [8, 19, 6, 21, EOS]]


def random_parameter(name, shape, generator):
    """Far enough from the usual initialisation that a forgotten bias or gain shows."""
    noise = torch.randn(shape, generator=generator)
    if len(shape) == 2:
        return noise / math.sqrt(shape[1])
    return 1 + 0.2 * noise if name.endswith("norm.weight") else 0.2 * noise


def random_parameters(config, seed):
    generator = torch.Generator().manual_seed(seed)
    return {name: random_parameter(name, shape, generator) for name, shape in parameter_shapes(config).items()}


def padded(sentences):
    longest = max(map(len, sentences))
    return torch.tensor([ids + [PAD] * (longest - len(ids)) for ids in sentences])


def make_batch():
    return {
        "src": padded(SOURCES),
        "tgt_in": padded([[BOS] + ids[:-1] for ids in TARGETS]),
        "tgt_out": padded(TARGETS),
    }


# ---- one case


def update(p, adam, batch, config):
    """One step of Adam on the batch; leaves the gradients in place."""
    adam.zero_grad()
    results = forward(p, batch, config)
    results["loss"].backward()
    adam.step()
    return results


def snapshot(prefix, tensors):
    return {prefix + name: tensor.detach().to(torch.float32, copy=True) for name, tensor in tensors.items()}


def write_case(name, config, seed):
    start, batch = random_parameters(config, seed), make_batch()
    p = {key: tensor.double().requires_grad_() for key, tensor in start.items()}
    adam = torch.optim.Adam(p.values(), **ADAM)
    golden = start | batch | snapshot("", update(p, adam, batch, config))
    golden |= snapshot("grad.", {key: tensor.grad for key, tensor in p.items()}) | snapshot("adam.", p)
    update(p, adam, batch, config)
    golden |= snapshot("adam2.", p)
    save_file({key: tensor.contiguous() for key, tensor in golden.items()}, HERE / f"{name}.safetensors")
    write_json(name, config)


# ---- RoPE


def at_position(rotate, x, position, theta):
    return rotate(torch.tensor(x, dtype=torch.float64).expand(position + 1, -1), theta)[position]


def decay(d_head, distance, theta=10000.0):
    """B(delta) = (2/d) * sum over j = 1..d/2 of |S_j|, S_j = sum over i < j of exp(1j * delta * theta_i)."""
    angle = angles(distance + 1, d_head, theta)[distance]
    return torch.polar(torch.ones_like(angle), angle).cumsum(0).abs().mean().item()


def rotated_vectors(layouts, theta):
    inputs = [
        ([1.0, 2.0, 3.0, 4.0], (0, 1, 2, 9)),
        ([0.5, -1.0, 2.0, 0.25, -3.0, 1.5, 0.75, -0.125], (0, 1, 7, 100, 1000)),
    ]
    return [
        {"x": x, "position": position}
        | {name: at_position(rotate, x, position, theta).tolist() for name, rotate in layouts.items()}
        for x, positions in inputs
        for position in positions
    ]


def dot_products(layouts, theta):
    """Each pair of positions is two apart, so all rows agree within a layout."""
    q, k = [1.0, 2.0, 3.0, 4.0], [0.5, -1.0, 2.0, 0.25]

    def dot(rotate, q_position, k_position):
        return (at_position(rotate, q, q_position, theta) @ at_position(rotate, k, k_position, theta)).item()

    return [
        {"q": q, "k": k, "q_position": m, "k_position": n}
        | {name: dot(rotate, m, n) for name, rotate in layouts.items()}
        for m, n in ((2, 0), (9, 7), (102, 100))
    ]


def write_rope():
    layouts = {"interleaved": rotate_interleaved, "half_split": rotate_half_split}
    theta = COMMON["rope_theta"]
    bounds = [
        {"d_head": d_head, "distance": distance, "bound": decay(d_head, distance)}
        for d_head in (128, 64)
        for distance in (0, 8, 32, 128, 256, 1024, 4096)
    ]
    vectors, products = rotated_vectors(layouts, theta), dot_products(layouts, theta)
    write_json("rope", {"theta": theta, "rotated": vectors, "dot_products": products, "decay": bounds})


def rounded(value):
    """Ten decimals: beyond any tolerance of ours, and short of what differs between mathematics libraries."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return round(value, 10) if isinstance(value, float) else value


def write_json(name, value):
    (HERE / f"{name}.json").write_text(json.dumps(rounded(value), indent=1) + "\n")


if __name__ == "__main__":
    for seed, (name, config) in enumerate(CASES.items(), start=1):
        write_case(name, config, seed)
    write_rope()
