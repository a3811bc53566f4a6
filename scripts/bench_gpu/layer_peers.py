"""PyTorch's ways to do the layers of layers.py. peers.py says what the names mean; further ones are

    compute    everything but the communication: what only faster products can be faster than
    compiled   eager, with what goes element by element made into kernels by torch.compile

In async_tp, too, what goes element by element is compiled. Each function makes the tensors of a layer and returns its
peers' calls by name.
"""
import torch
import torch.distributed as dist
import torch.nn.functional as functional

from on_gpu import empty, normal

CHANNELS = 128  # of a head, as in layers.py


def gelu(x):
    """With erf, as hirgen's."""
    return functional.gelu(x)


def add(a, b):
    """Element by element."""
    return a + b


def weights(*shape):
    """A matrix whose products have elements of the size of their operands'."""
    return normal(*shape) / shape[0] ** 0.5


def compiled(function, *example):
    """A function as kernels for tensors as large as these, made now: the clock must not see it."""
    made = torch.compile(function, dynamic=False)
    made(*example)
    return made


def gathered(full):
    """A call that gathers a rank's rows into a tensor and returns it."""
    def call(rows):
        dist.all_gather_into_tensor(full, rows)
        return full
    return call


def scattered(out):
    """A call that sums over ranks, keeps a rank's rows of it and returns them."""
    def call(part):
        dist.reduce_scatter_tensor(out, part)
        return out
    return call


def fused_gather(group, rows, matrices):
    """Async-TP's allgather and the products of what it gathers: (the gathered rows, [products])."""
    return torch.ops.symm_mem.fused_all_gather_matmul(rows, matrices, 0, group.group_name)


def fused_scatter(group, rows, matrix):
    """Async-TP's product and reduce-scatter."""
    return torch.ops.symm_mem.fused_matmul_reduce_scatter(rows, matrix, "sum", 0, group.group_name)


def feed_forward(group, m, n, k, activation, inputs):
    """An MLP whose activation is of the products with so many matrices."""
    ranks = group.size()
    x, full, out = normal(m // ranks, k), normal(m, k), empty(m // ranks, k)
    into, back = [weights(k, n // ranks) for _ in range(inputs)], weights(n // ranks, k)
    gather, scatter = gathered(full), scattered(out)
    kernels = compiled(activation, *(full @ matrix for matrix in into))

    def inner(function, rows):
        return function(*(rows @ matrix for matrix in into)) @ back

    return {
        "compute": lambda: inner(kernels, full),
        "eager": lambda: scatter(inner(activation, gather(x))),
        "compiled": lambda: scatter(inner(kernels, gather(x))),
        "async_tp": lambda: fused_scatter(group, kernels(*fused_gather(group, x, into)[1]), back),
    }


def mlp(group, m, n, k):
    """gelu of one product."""
    return feed_forward(group, m, n, k, gelu, 1)


def gated(gate, up):
    """silu of one product times another one."""
    return functional.silu(gate) * up


def swiglu(group, m, n, k):
    """silu of one product, times another one."""
    return feed_forward(group, m, n, k, gated, 2)


def mlp_backward(group, m, n, k):
    """The gradients of an MLP: by its input, which is scattered, and by its weights, which stay."""
    ranks = group.size()
    dy, dy_full, dx = normal(m // ranks, k), normal(m, k), empty(m // ranks, k)
    x, z, a = normal(m, k), weights(m, n // ranks), weights(m, n // ranks)
    into, back = weights(k, n // ranks), weights(n // ranks, k)
    gather, scatter = gathered(dy_full), scattered(dx)

    def gradient(da):
        return torch.ops.aten.gelu_backward(da, z)
    kernels = compiled(gradient, dy_full @ back.t())

    def call(function, before, after):
        full = before(dy)
        back_gradient = a.t() @ full
        dz = function(full @ back.t())
        return after(dz @ into.t()), x.t() @ dz, back_gradient

    def overlapped():
        full, (da,) = fused_gather(group, dy, [back.t()])
        dz = kernels(da)
        return fused_scatter(group, dz, into.t()), x.t() @ dz, a.t() @ full

    return {
        "compute": lambda: call(kernels, lambda _: dy_full, lambda part: part),
        "eager": lambda: call(gradient, gather, scatter),
        "compiled": lambda: call(kernels, gather, scatter),
        "async_tp": overlapped,
    }


class Block:
    """The weights of a transformer block on a rank, and its parts."""

    def __init__(self, ranks, m, n, k, sequences):
        self.heads, self.sequences, self.shape = k // CHANNELS // ranks, sequences, (m, k // ranks)
        self.qkv, self.output = [weights(k, k // ranks) for _ in range(3)], weights(k // ranks, k)
        self.into, self.back = weights(k, n // ranks), weights(n // ranks, k)
        self.scale, self.shift = torch.ones_like(self.output[0]), torch.zeros_like(self.output[0])

    def norm(self, x):
        """Layer norm of rows."""
        return functional.layer_norm(x, (x.shape[-1],), self.scale, self.shift)

    def attention(self, *qkv):
        """Causal attention within each sequence, by PyTorch's fused kernel."""
        q, k, v = (t.view(self.sequences, -1, self.heads, CHANNELS).transpose(1, 2) for t in qkv)
        made = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return made.transpose(1, 2).reshape(self.shape)

    def attended(self, rows):
        """A rank's part of the sum over heads."""
        return self.attention(*(rows @ matrix for matrix in self.qkv)) @ self.output

    def call(self, x, before, after, norm, gelu, add):
        """The block, with what goes between ranks before and after its halves."""
        x = add(x, after(self.attended(before(norm(x)))))
        return add(x, after(gelu(before(norm(x)) @ self.into) @ self.back))

    def overlapped(self, group, x, norm, gelu, add):
        """The block with async-TP around its halves."""
        heads = self.attention(*fused_gather(group, norm(x), self.qkv)[1])
        x = add(x, fused_scatter(group, heads, self.output))
        return add(x, fused_scatter(group, gelu(fused_gather(group, norm(x), [self.into])[1][0]), self.back))


def reduced(part):
    """The sum over ranks, in place."""
    dist.all_reduce(part)
    return part


def same(rows):
    """No communication."""
    return rows


def block(group, m, n, k, sequences):
    """A block with whole rows on every rank."""
    own, x = Block(group.size(), m, n, k, sequences), normal(m, k)
    eager = own.norm, gelu, add
    kernels = compiled(own.norm, x), compiled(gelu, x @ own.into), compiled(add, x, x)
    return {
        "compute": lambda: own.call(x, same, same, *kernels),
        "eager": lambda: own.call(x, same, reduced, *eager),
        "compiled": lambda: own.call(x, same, reduced, *kernels),
    }


def block_sp(group, m, n, k, sequences):
    """A block with a part of the rows on each rank."""
    own, x, full = Block(group.size(), m, n, k, sequences), normal(m // group.size(), k), normal(m, k)
    gather = gathered(full)

    def scatter(part):  # a new tensor, since what the attention gave is still needed when the second one is made
        return scattered(empty(*x.shape))(part)
    eager = own.norm, gelu, add
    kernels = compiled(own.norm, x), compiled(gelu, full @ own.into), compiled(add, x, x)
    return {
        "compute": lambda: own.call(x, lambda _: full, lambda part: part[:x.shape[0]], *kernels),
        "eager": lambda: own.call(x, gather, scatter, *eager),
        "compiled": lambda: own.call(x, gather, scatter, *kernels),
        "async_tp": lambda: own.overlapped(group, x, *kernels),
    }


LAYERS = {"mlp": mlp, "swiglu": swiglu, "mlp_backward": mlp_backward, "block": block, "block_sp": block_sp}
