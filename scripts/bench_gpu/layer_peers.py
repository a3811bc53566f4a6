"""PyTorch's ways to do the layers of layers.py. peers.py says what the names mean; further ones are

    compute           everything but the communication: what only faster kernels can be faster than
    compute, whole    the same, the whole layer by torch.compile
    compiled          eager, with what goes element by element or along rows made into kernels by torch.compile
    compiled, whole   the whole layer by torch.compile, with functional collectives
    compiled, async   the same, and the compiler makes async-TP's operations of collectives beside products

In async_tp, too, what goes element by element is compiled. A backward pass is that of autograd, from what the forward pass
left, and gives the gradients of the input and of all weights. Weights lie as those of hirgen's specs do. Products of one operand
are one product: its weights stand side by side.
"""
import contextlib

import torch
import torch.distributed as dist
import torch.nn.functional as functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from on_gpu import empty, normal, timed

BACKWARD = "_backward"
EPSILON, BASE = 1e-5, 500000.0  # of the norms and of the rotary embeddings, as in hirgen's specs
ATTENTION = [SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION]


def weights(*shape):
    """A matrix whose products have elements of the size of their operands'."""
    return normal(*shape) / shape[0] ** 0.5


class Eager:
    """Collectives into new tensors, one after the other on the caller's stream."""

    def __init__(self, group):
        self.ranks = group.size()

    def gather(self, rows):
        """The rows of all ranks."""
        full = empty(rows.shape[0] * self.ranks, *rows.shape[1:])
        dist.all_gather_into_tensor(full, rows.contiguous())
        return full

    def scatter(self, part):
        """The sum over ranks, of which a rank keeps its rows."""
        out = empty(part.shape[0] // self.ranks, *part.shape[1:])
        dist.reduce_scatter_tensor(out, part.contiguous())
        return out

    def reduce(self, part):
        """The sum over ranks, in place."""
        part = part.contiguous()
        dist.all_reduce(part)
        return part


class Functional:
    """Collectives that torch.compile can see through."""

    def __init__(self, group):
        self.ranks, self.name = group.size(), group.group_name

    def gather(self, rows):
        """The rows of all ranks."""
        return self._done(torch.ops._c10d_functional.all_gather_into_tensor(rows.contiguous(), self.ranks, self.name))

    def scatter(self, part):
        """The sum over ranks, of which a rank keeps its rows."""
        return self._done(torch.ops._c10d_functional.reduce_scatter_tensor(part.contiguous(), "sum", self.ranks, self.name))

    def reduce(self, part):
        """The sum over ranks."""
        return self._done(torch.ops._c10d_functional.all_reduce(part.contiguous(), "sum", self.name))

    @staticmethod
    def _done(tensor):
        return torch.ops._c10d_functional.wait_tensor(tensor)


class Nothing:
    """No communication: rows of other ranks are some random ones, and sums a rank's own part."""

    def __init__(self, group):
        self.ranks, self.rows = group.size(), {}

    def gather(self, rows):
        """As many rows as all ranks have."""
        shape = (rows.shape[0] * self.ranks, *rows.shape[1:])
        if shape not in self.rows:
            self.rows[shape] = normal(*shape)
        return self.rows[shape].view(shape)

    def scatter(self, part):
        """The first rows."""
        return part[:part.shape[0] // self.ranks]

    @staticmethod
    def reduce(part):
        """The part."""
        return part.view(part.shape)


def moves(team):
    """What crosses ranks in a layer, by name, as operations with gradients: (gather, scatter, enter, leave). enter and leave
    stand where a tensor that all ranks have goes into a part of the layer that is split, and where the parts are summed."""
    class Gather(torch.autograd.Function):
        """The gradient of gathered rows is summed and scattered."""

        @staticmethod
        def forward(_, rows):
            """Gathers."""
            return team.gather(rows)

        @staticmethod
        def backward(_, grad):
            """Scatters."""
            return team.scatter(grad)

    class Scatter(torch.autograd.Function):
        """The gradient of scattered rows is gathered."""

        @staticmethod
        def forward(_, part):
            """Scatters."""
            return team.scatter(part)

        @staticmethod
        def backward(_, grad):
            """Gathers."""
            return team.gather(grad)

    class Enter(torch.autograd.Function):
        """The ranks' gradients are summed."""

        @staticmethod
        def forward(_, whole):
            """The same."""
            return whole.view(whole.shape)

        @staticmethod
        def backward(_, grad):
            """Sums."""
            return team.reduce(grad)

    class Leave(torch.autograd.Function):
        """The gradient is that of each part."""

        @staticmethod
        def forward(_, part):
            """Sums."""
            return team.reduce(part)

        @staticmethod
        def backward(_, grad):
            """The same."""
            return grad

    return Gather.apply, Scatter.apply, Enter.apply, Leave.apply


def fused(group):
    """Async-TP's operations, with gradients: (product of gathered rows, scattered product)."""
    name = group.group_name

    def gathered(rows, matrix):
        full, (product,) = torch.ops.symm_mem.fused_all_gather_matmul(rows.contiguous(), [matrix], 0, name)
        return full, product

    def scattered(rows, matrix):
        return torch.ops.symm_mem.fused_matmul_reduce_scatter(rows.contiguous(), matrix, "sum", 0, name)

    class Into(torch.autograd.Function):
        """gather(rows) @ matrix."""

        @staticmethod
        def forward(ctx, rows, matrix):
            """Fused."""
            full, product = gathered(rows, matrix)
            ctx.save_for_backward(full, matrix)
            return product

        @staticmethod
        def backward(ctx, grad):
            """That of the rows is scattered."""
            full, matrix = ctx.saved_tensors
            return scattered(grad, matrix.t()), full.t() @ grad

    class Out(torch.autograd.Function):
        """scatter(rows @ matrix)."""

        @staticmethod
        def forward(ctx, rows, matrix):
            """Fused."""
            ctx.save_for_backward(rows, matrix)
            return scattered(rows, matrix)

        @staticmethod
        def backward(ctx, grad):
            """Of what is gathered."""
            rows, matrix = ctx.saved_tensors
            full, product = gathered(grad, matrix.t())
            return product, rows.t() @ full

    return Into.apply, Out.apply


class Split:
    """Rows split over ranks outside of products: gathered before them, and summed and scattered after them."""

    overlaps = True

    def __init__(self, team):
        gather, scatter, self.vector, _ = moves(team)
        self.into = lambda rows, matrix: gather(rows) @ matrix
        self.out = lambda rows, matrix: scatter(rows @ matrix)

    @classmethod
    def overlapped(cls, group):
        """The same by async-TP."""
        made = cls(Eager(group))
        made.into, made.out = fused(group)
        return made


class Whole:
    """All rows on every rank: products of parts are summed."""

    overlaps = False

    def __init__(self, team):
        _, _, enter, leave = moves(team)
        self.into = lambda rows, matrix: enter(rows) @ matrix
        self.out = lambda rows, matrix: leave(rows @ matrix)
        self.vector = lambda vector: vector


def gelu(z):
    """With erf, as hirgen's."""
    return functional.gelu(z)


def gated(both):
    """silu of the first half of the columns, times the second half."""
    gate, up = both.chunk(2, -1)
    return functional.silu(gate) * up


def norm(x, scale):
    """RMS norm of rows."""
    return functional.rms_norm(x, (x.shape[-1],), scale, EPSILON)


def add(a, b):
    """Element by element."""
    return a + b


def rotated(x, cos, sin):
    """Rotary embeddings of [sequences, length, heads, channels], one half of the channels with the other one."""
    first, second = x.float().chunk(2, -1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1).to(x.dtype)


PARTS = {"gelu": gelu, "gated": gated, "norm": norm, "add": add, "rotated": rotated}


class FeedForward:
    """An MLP, its first product with one matrix, or with two whose products gate one another."""

    def __init__(self, ranks, m, n, k, gate, split=Split):
        self.split, self.gate = split, gate
        self.x = normal(m // ranks, k)
        self.weights = [weights(k, (2 if gate else 1) * n // ranks), weights(n // ranks, k)]

    def __call__(self, moved, parts, x, into, back):
        """The layer."""
        return moved.out(parts["gated" if self.gate else "gelu"](moved.into(x, into)), back)


class Block:
    """A Llama block. Its weights are [columns, rows], as those of torch.nn.Linear."""

    def __init__(self, ranks, m, n, k, sequences, heads, groups, split):
        self.split, self.sequences, self.channels = split, sequences, k // heads
        self.counts = heads // ranks, groups // ranks, groups // ranks
        self.x = normal(m // ranks if split is Split else m, k)
        shapes = [(k, sum(self.counts) * self.channels), (k // ranks, k), (k, 2 * n // ranks), (n // ranks, k)]
        self.weights = [torch.ones_like(self.x[0]), torch.ones_like(self.x[0])]
        self.weights += [weights(*shape).t().contiguous() for shape in shapes]
        frequencies = BASE ** (-torch.arange(self.channels // 2, device=self.x.device) * 2 / self.channels)
        angles = torch.outer(torch.arange(m // sequences, device=self.x.device), frequencies)[:, None]
        self.cos, self.sin = angles.cos(), angles.sin()

    def attention(self, parts, qkv):
        """Causal attention within each sequence, queries sharing the heads of keys and values."""
        rows = qkv.view(self.sequences, -1, sum(self.counts), self.channels)
        q, k, v = rows.split(self.counts, 2)
        q, k = (parts["rotated"](x, self.cos, self.sin) for x in (q, k))
        made = functional.scaled_dot_product_attention(*(x.transpose(1, 2) for x in (q, k, v)), is_causal=True, enable_gqa=True)
        return made.transpose(1, 2).reshape(qkv.shape[0], -1)

    def __call__(self, moved, parts, x, before, between, qkv, output, into, back):
        """The block."""
        norm, add = parts["norm"], parts["add"]
        heads = self.attention(parts, moved.into(norm(x, moved.vector(before)), qkv.t()))
        x = add(x, moved.out(heads, output.t()))
        return add(x, moved.out(parts["gated"](moved.into(norm(x, moved.vector(between)), into.t())), back.t()))

    def example(self):
        """Queries, keys and values as the attention gets them."""
        counts = self.counts
        rows = self.cos.shape[0]
        return [normal(self.sequences, rows, count, self.channels).transpose(1, 2) for count in counts]


def mlp(group, m, n, k):
    """gelu of one product."""
    return FeedForward(group.size(), m, n, k, gate=False)


def swiglu(group, m, n, k):
    """silu of one product, times another one."""
    return FeedForward(group.size(), m, n, k, gate=True)


def block(group, m, n, k, sequences, heads, groups):
    """With whole rows on every rank."""
    return Block(group.size(), m, n, k, sequences, heads, groups, Whole)


def block_sp(group, m, n, k, sequences, heads, groups):
    """With a part of the rows on each rank."""
    return Block(group.size(), m, n, k, sequences, heads, groups, Split)


def forms(group, split):
    """(name, what moves, are its parts compiled, options of torch.compile for the whole) of the peers of a layer."""
    nothing, by_compiler = split(Nothing(group)), split(Functional(group))
    rows = [("compute", nothing, True, None), ("compute, whole", nothing, False, {}), ("eager", split(Eager(group)), False, None),
            ("compiled", split(Eager(group)), True, None), ("compiled, whole", by_compiler, False, {})]
    if split.overlaps:
        rows += [("compiled, async", by_compiler, False, {"_micro_pipeline_tp": True}), ("async_tp", split.overlapped(group), True, None)]
    return rows


def compiled_parts():
    """What goes element by element or along rows as kernels for tensors of one size each."""
    return {name: torch.compile(function, dynamic=False) for name, function in PARTS.items()}


def calls(layer, group, backward):
    """The peers of a layer, by name; they are compiled when they are first called."""
    made, parts = {}, compiled_parts()
    for name, moved, by_parts, whole in forms(group, layer.split):
        def run(*tensors, moved=moved, own=parts if by_parts else PARTS):
            return layer(moved, own, *tensors)
        if whole is not None:
            run = torch.compile(run, dynamic=False, options=whole)
        made[name] = Backward(run, layer) if backward else Forward(run, layer)
    return made


class Forward:
    """A call of a layer, without gradients."""

    def __init__(self, run, layer):
        self.run, self.tensors = run, [layer.x, *layer.weights]

    def __call__(self):
        with torch.no_grad():
            return self.run(*self.tensors)


class Backward:
    """The gradients of a layer's input and weights, given that of its result. The forward pass is part of the first call."""

    def __init__(self, run, layer):
        self.run, self.result = run, None
        self.tensors = [tensor.detach().requires_grad_() for tensor in (layer.x, *layer.weights)]

    def __call__(self):
        if self.result is None:
            self.result = self.run(*self.tensors)
            self.grad = normal(*self.result.shape)
        return torch.autograd.grad(self.result, self.tensors, self.grad, retain_graph=True)


def choose_attention(layer, backward):
    """Leaves the faster of PyTorch's attention kernels switched on, for this size and direction."""
    times = {}
    for backend in ATTENTION:
        q, k, v = (tensor.requires_grad_(backward) for tensor in layer.example())

        def call(q=q, k=k, v=v):
            made = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            return torch.autograd.grad(made, (q, k, v), made) if backward else made
        with contextlib.suppress(RuntimeError), sdpa_kernel(backend):
            times[backend] = min(timed(call, 5, 10, 3))
    best = min(times, key=times.get, default=None)
    torch.backends.cuda.enable_flash_sdp(best != SDPBackend.CUDNN_ATTENTION)
    torch.backends.cuda.enable_cudnn_sdp(best != SDPBackend.FLASH_ATTENTION)
    return str(best)


def peers_of(make, backward):
    """A layer's peers as peers.py asks for them."""
    def load(group, **sizes):
        torch._functorch.config.donated_buffer = False  # what the forward pass saved is used by every backward pass
        layer = make(group, **sizes)
        if isinstance(layer, Block):
            choose_attention(layer, backward)
        return calls(layer, group, backward)
    return load


MADE = {"mlp": mlp, "swiglu": swiglu, "block": block, "block_sp": block_sp}
LAYERS = {name + suffix: peers_of(make, bool(suffix)) for name, make in MADE.items() for suffix in ("", BACKWARD)}
