"""The layers of layers.py in PyTorch. Weights have the layout of hirgen's specs. GEMMs with the same operand are merged into one."""
import functools

import torch
import torch.nn.functional as functional

from layer_moves import Split, Whole
from layer_quantized import QuantizedSplit, QuantizedWhole
from on_gpu import normal

EPSILON, BASE = 1e-5, 500000.0  # of the norms and of the rotary embeddings, as in hirgen's specs


def weights(*shape):
    """Random weights, scaled so that a product has the variance of its other operand."""
    return normal(*shape) / shape[0] ** 0.5


def gelu(z):
    """GELU with erf, as in hirgen."""
    return functional.gelu(z)


def gated(both):
    """silu of the first half of the columns, times the second half."""
    gate, up = both.chunk(2, -1)
    return functional.silu(gate) * up


def norm(x, scale):
    """RMS norm of rows."""
    return functional.rms_norm(x, (x.shape[-1],), scale, EPSILON)


def add(a, b):
    """Adds element by element."""
    return a + b


def rotated(x, cos, sin):
    """Rotary embeddings of [sequences, length, heads, channels]. Each channel of the first half is paired with one of the second half."""
    first, second = x.float().chunk(2, -1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1).to(x.dtype)


PARTS = {"gelu": gelu, "gated": gated, "norm": norm, "add": add, "rotated": rotated}


class FeedForward:
    """An MLP with GELU, or with gate a SwiGLU, whose gate and up matrices are merged into one."""

    def __init__(self, ranks, m, n, k, gate, split):
        self.split, self.gate = split, gate
        self.x = normal(m // ranks if split.is_split else m, k)
        self.weights = [weights(k, (2 if gate else 1) * n // ranks), weights(n // ranks, k)]

    def __call__(self, moved, parts, x, into, back):
        """Computes the layer."""
        return moved.out(parts["gated" if self.gate else "gelu"](moved.into(x, into)), back)


class Block:
    """A Llama block. Its weights are [columns, rows], as in torch.nn.Linear."""

    def __init__(self, ranks, m, n, k, sequences, heads, groups, split):
        self.split, self.sequences, self.channels = split, sequences, k // heads
        self.counts = heads // ranks, groups // ranks, groups // ranks
        self.x = normal(m // ranks if split.is_split else m, k)
        shapes = [(k, sum(self.counts) * self.channels), (k // ranks, k), (k, 2 * n // ranks), (n // ranks, k)]
        self.weights = [torch.ones_like(self.x[0]), torch.ones_like(self.x[0])]
        self.weights += [weights(*shape).t().contiguous() for shape in shapes]
        frequencies = BASE ** (-torch.arange(self.channels // 2, device=self.x.device) * 2 / self.channels)
        angles = torch.outer(torch.arange(m // sequences, device=self.x.device), frequencies)[:, None]
        self.cos, self.sin = angles.cos(), angles.sin()

    def attention(self, parts, qkv):
        """Causal attention within each sequence, with grouped queries."""
        rows = qkv.view(self.sequences, -1, sum(self.counts), self.channels)
        q, k, v = rows.split(self.counts, 2)
        q, k = (parts["rotated"](x, self.cos, self.sin) for x in (q, k))
        if q.dtype == torch.float32:  # the fp32 kernel does not support grouped queries
            k, v = (x.repeat_interleave(self.counts[0] // self.counts[1], 2) for x in (k, v))
        made = functional.scaled_dot_product_attention(*(x.transpose(1, 2) for x in (q, k, v)), is_causal=True,
                                                       enable_gqa=q.shape[2] != k.shape[2])
        return made.transpose(1, 2).reshape(qkv.shape[0], -1)

    def __call__(self, moved, parts, x, before, between, qkv, output, into, back):
        """Computes the block."""
        norm, add = parts["norm"], parts["add"]
        heads = self.attention(parts, moved.into(norm(x, moved.vector(before)), qkv.t()))
        x = add(x, moved.out(heads, output.t()))
        return add(x, moved.out(parts["gated"](moved.into(norm(x, moved.vector(between)), into.t())), back.t()))

    def example(self):
        """Random queries, keys and values with the shapes of the attention's operands."""
        counts = self.counts
        rows = self.cos.shape[0]
        return [normal(self.sequences, rows, count, self.channels).transpose(1, 2) for count in counts]


def mlp(group, m, n, k, split):
    """An MLP with GELU."""
    return FeedForward(group.size(), m, n, k, False, split)


def swiglu(group, m, n, k, split):
    """An MLP with silu of one GEMM times another GEMM."""
    return FeedForward(group.size(), m, n, k, True, split)


def block(group, m, n, k, sequences, heads, groups, split):
    """A Llama block."""
    return Block(group.size(), m, n, k, sequences, heads, groups, split)


#: The layers by operation, each with the placement of its rows. FP8 layers have the placements with GEMMs of 8 bits.
PLACED = {"mlp": (mlp, Split), "swiglu": (swiglu, Split), "mlp_ar": (mlp, Whole), "swiglu_ar": (swiglu, Whole), "block": (block, Whole),
          "block_sp": (block, Split)}
QUANTIZED = {Split: QuantizedSplit, Whole: QuantizedWhole}
MADE = {name: functools.partial(made, split=split) for name, (made, split) in PLACED.items()}
MADE |= {f"fp8_{name}": functools.partial(made, split=QUANTIZED[split]) for name, (made, split) in PLACED.items()}
