"""The Transformer of this crate in plain PyTorch: parameter names and shapes, forward pass and loss.

Follows the equations rather than our Rust, so that the two can disagree. `p` maps parameter names to tensors, `config`
is the configuration of a model directory (no dropout, rotation always interleaved), `x` is [batch, len, d_model], and
a linear weight is [d_out, d_in].
"""

import math

import torch

PAD = 3
LABEL_SMOOTHING = 0.1


def linear_shapes(name, d_out, d_in):
    return {f"{name}.weight": (d_out, d_in), f"{name}.bias": (d_out,)}


def norm_shapes(name, config):
    return {f"{name}.weight": (config["d_model"],), f"{name}.bias": (config["d_model"],)}


def layer_shapes(name, attentions, config):
    d_model, d_ff = config["d_model"], config["d_ff"]
    shapes = {}
    for attention in attentions:
        for projection in ("query", "key", "value", "output"):
            shapes |= linear_shapes(f"{name}.{attention}.{projection}", d_model, d_model)
        shapes |= norm_shapes(f"{name}.{attention}_norm", config)
    shapes |= linear_shapes(f"{name}.feed_forward.inner", d_ff, d_model)
    shapes |= linear_shapes(f"{name}.feed_forward.outer", d_model, d_ff)
    return shapes | norm_shapes(f"{name}.feed_forward_norm", config)


def parameter_shapes(config):
    shared = ("embedding",)
    separate = ("source_embedding", "target_embedding", "output")
    matrices = shared if config["embeddings"] == "shared" else separate
    shapes = {f"{name}.weight": (config["vocab"], config["d_model"]) for name in matrices}
    for i in range(config["encoder_layers"]):
        shapes |= layer_shapes(f"encoder.layers.{i}", ["self_attention"], config)
    for i in range(config["decoder_layers"]):
        shapes |= layer_shapes(f"decoder.layers.{i}", ["self_attention", "cross_attention"], config)
    if config["norm"] == "pre":
        shapes |= norm_shapes("encoder.norm", config) | norm_shapes("decoder.norm", config)
    return shapes


def linear(p, name, x):
    return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]


def layer_norm(p, name, x, config):
    centred = x - x.mean(-1, keepdim=True)
    variance = centred.square().mean(-1, keepdim=True)
    return centred / torch.sqrt(variance + config["norm_epsilon"]) * p[f"{name}.weight"] + p[f"{name}.bias"]


def angles(length, d_head, theta):
    """position * theta^(-2i/d_head): [length, d_head / 2]."""
    frequency = theta ** (-torch.arange(0, d_head, 2, dtype=torch.float64) / d_head)
    return torch.arange(length, dtype=torch.float64)[:, None] * frequency


def turn(a, b, angle):
    """The pairs (a, b), each rotated by its angle."""
    return a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()


def rotate_interleaved(x, theta):
    """RoPE, pairs (2i, 2i+1): x is [..., length, d_head], positions from 0."""
    pairs = turn(x[..., 0::2], x[..., 1::2], angles(x.shape[-2], x.shape[-1], theta))
    return torch.stack(pairs, dim=-1).flatten(-2)


def rotate_half_split(x, theta):
    """RoPE, pairs (i, i + d_head/2): x is [..., length, d_head], positions from 0."""
    half = x.shape[-1] // 2
    return torch.cat(turn(x[..., :half], x[..., half:], angles(x.shape[-2], x.shape[-1], theta)), dim=-1)


def sinusoid(length, d_model):
    """PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos: [length, d_model]."""
    angle = angles(length, d_model, 10000.0)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(-2)


def embed(p, side, ids, config):
    name = "embedding" if config["embeddings"] == "shared" else f"{side}_embedding"
    x = p[f"{name}.weight"][ids] * math.sqrt(config["d_model"])
    return x + sinusoid(ids.shape[1], config["d_model"]) if config["positions"] == "sinusoidal" else x


def attention(p, name, q_input, kv_input, is_hidden, positions, config):
    """`is_hidden` is true where a query must not see a key; `positions` maps queries and keys, given as
    [batch, n_heads, len, d_head]."""

    def heads(projection, x):
        return linear(p, f"{name}.{projection}", x).unflatten(-1, (config["n_heads"], -1)).transpose(1, 2)

    query, key = positions(heads("query", q_input)), positions(heads("key", kv_input))
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    weights = scores.masked_fill(is_hidden, -math.inf).softmax(-1)
    context = weights @ heads("value", kv_input)
    return linear(p, f"{name}.output", context.transpose(1, 2).flatten(-2))


def self_attention(p, name, x, is_hidden, config):
    def positions(heads):
        return rotate_interleaved(heads, config["rope_theta"]) if config["positions"] == "rope" else heads

    return attention(p, name, x, x, is_hidden, positions, config)


def cross_attention(p, name, x, memory, is_hidden, config):
    return attention(p, name, x, memory, is_hidden, lambda heads: heads, config)


def feed_forward(p, name, x):
    return linear(p, f"{name}.outer", linear(p, f"{name}.inner", x).relu())


def residual(p, name, x, sublayer, config):
    """`name` is the sublayer's; its norm is called `<name>_norm`."""
    if config["norm"] == "pre":
        return x + sublayer(layer_norm(p, f"{name}_norm", x, config))
    return layer_norm(p, f"{name}_norm", x + sublayer(x), config)


def final_norm(p, name, x, config):
    return layer_norm(p, name, x, config) if config["norm"] == "pre" else x


def encode(p, src, config):
    is_pad = (src == PAD)[:, None, None, :]
    x = embed(p, "source", src, config)
    for i in range(config["encoder_layers"]):
        attend, feed = f"encoder.layers.{i}.self_attention", f"encoder.layers.{i}.feed_forward"
        x = residual(p, attend, x, lambda y: self_attention(p, attend, y, is_pad, config), config)
        x = residual(p, feed, x, lambda y: feed_forward(p, feed, y), config)
    return final_norm(p, "encoder.norm", x, config)


def decode(p, memory, src, tgt_in, config):
    is_pad = (src == PAD)[:, None, None, :]
    is_future = torch.ones(tgt_in.shape[1], tgt_in.shape[1], dtype=torch.bool).triu(1)
    x = embed(p, "target", tgt_in, config)
    for i in range(config["decoder_layers"]):
        layer = f"decoder.layers.{i}"
        attend, cross, feed = f"{layer}.self_attention", f"{layer}.cross_attention", f"{layer}.feed_forward"
        x = residual(p, attend, x, lambda y: self_attention(p, attend, y, is_future, config), config)
        x = residual(p, cross, x, lambda y: cross_attention(p, cross, y, memory, is_pad, config), config)
        x = residual(p, feed, x, lambda y: feed_forward(p, feed, y), config)
    output = "embedding.weight" if config["embeddings"] == "shared" else "output.weight"
    return final_norm(p, "decoder.norm", x, config) @ p[output].T


def losses(logits, tgt_out):
    """Mean over real tokens of (1 - epsilon) * -log p(target) + epsilon/V * (sum over all V classes of -log p),
    which is also PyTorch's reading."""
    is_real = tgt_out != PAD
    cost = -logits.log_softmax(-1)
    token_nll = cost.gather(-1, tgt_out[..., None])[..., 0] * is_real
    token_loss = (1 - LABEL_SMOOTHING) * token_nll + LABEL_SMOOTHING * cost.mean(-1) * is_real
    loss = token_loss.sum() / is_real.sum()
    theirs = torch.nn.functional.cross_entropy(
        logits.transpose(1, 2), tgt_out, ignore_index=PAD, label_smoothing=LABEL_SMOOTHING
    )
    torch.testing.assert_close(loss, theirs)
    return {"token_nll": token_nll, "nll": (token_nll.sum() / is_real.sum())[None], "loss": loss[None]}


def forward(p, batch, config):
    memory = encode(p, batch["src"], config)
    logits = decode(p, memory, batch["src"], batch["tgt_in"], config)
    return {"memory": memory, "logits": logits} | losses(logits, batch["tgt_out"])
