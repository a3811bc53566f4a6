"""Layers of a tensor-parallel model as cells of the benchmark, with the programs of hirgen.

    mlp           rows of X [M/d, K] on each rank;  Y = reduce_scatter(gelu(allgather(X) W1) W2)  is [M/d, K] on each rank.
    swiglu        the same with silu(. Wg) (. Wu) in place of gelu(. W1).
    mlp_ar        rows of X and Y [M, K] on every rank;  Y = allreduce(gelu(X W1) W2). It can have a single row.
    swiglu_ar     the same with silu(X Wg) (X Wu).
    block         a Llama block, X and Y [M, K] on every rank: RMS norm, causal attention with grouped heads and rotary
                  embeddings, allreduce, RMS norm, SwiGLU, allreduce.
    block_sp      the same with X and Y [M/d, K] on each rank: allgathers before both halves, reduce-scatters after them.
    fp8_...       any of these with GEMMs that quantize their operands to fp8_e4m3, with a scale for each row.
    ..._backward  the gradients of the inputs and of all weights, given the gradient of Y and the tensors saved by the forward pass.
                  hirgen grad --recompute none derives the backward specs of blocks from the forward specs.

There are M rows (tokens) in all, with width K and inner width N. A rank has N/d columns of W1 [K, N/d], Wg and Wu, and N/d rows of
W2. It also has H/d heads of queries, which share G/d heads of keys and values. Wg and Wu are one matrix, for peers and
for hirgen, except in the blocks of NATURAL. The specs are in specs/, the peers in layer_peers.py and layer_models.py; "compute" is a layer without communication.
"""
import dataclasses
import itertools
import math
import random

import cells
import kernel_classes
import programs
import tables
from variants import AHEAD, SEPARATE_ADD, BRACKET, EAGER, GET, GRAPH, LAST, PUT, TWO, TWO_EACH, TWO_SUB_CHUNKS

CHANNELS = 128  # channels of a head
BACKWARD = "_backward"
PRODUCTS = {"mlp": 2, "swiglu": 3}  # number of matrices of N x K elements
REDUCED = {f"{name}_ar": count for name, count in PRODUCTS.items()}
BLOCKS = ["block", "block_sp"]
USUALLY = [operation + suffix for suffix in ("", BACKWARD) for operation in (*BLOCKS, *PRODUCTS)]
FP8, QUANTIZED = "fp8_", "fp8_e4m3"  # the prefix of layers with GEMMs of 8 bits, and their type
OPERATIONS = [prefix + operation for prefix in ("", FP8) for operation in (*USUALLY, *REDUCED)]


@dataclasses.dataclass(frozen=True)
class Size:
    """The size of a model's layers and of the input: rows for an MLP, sequences and their length for a block."""

    rows: int
    sequences: int
    length: int
    heads: int
    groups: int
    inner: int

    @property
    def width(self):
        """The elements of a token."""
        return self.heads * CHANNELS


#: Two models, and one with few tokens; three random sizes are added below.
SIZES = {"8b": Size(8192, 2, 2048, 32, 8, 14336), "70b": Size(4096, 1, 4096, 64, 8, 28672), "small": Size(1024, 1, 1024, 32, 8, 14336)}
DRAWN_FROM = 13  # seed of the three random sizes
LEAST_ROWS = 1024  # fewest rows of a size that --draw draws
PEERS_HOLD = 3  # memory of all peers, as a multiple of a program's


def drawn_sizes(seed, count):
    """count random sizes, the same on every machine. They have 16 to 56 heads, 8 of keys and values, and an inner width of two to four
    times the width. One sequence has 768 to 12288 tokens, log-uniform."""
    source = random.Random(seed)
    for _ in range(count):
        heads = 8 * source.randint(2, 7)
        inner = 256 * round(source.uniform(2, 4) * heads * CHANNELS / 256)
        rows = 256 * round(math.exp(source.uniform(math.log(768), math.log(12288))) / 256)
        yield Size(rows, 1, rows, heads, 8, inner)


def add_drawn(seed, count):
    """Adds count random sizes of at least LEAST_ROWS rows to SIZES, and returns their names."""
    large = (size for size in drawn_sizes(seed, 10 * count) if size.rows >= LEAST_ROWS)
    made = {f"seed {seed}, {i + 1}": size for i, size in enumerate(itertools.islice(large, count))}
    SIZES.update(made)
    return list(made)


def add_few(rows, model):
    """Adds sizes of one sequence with these numbers of rows to SIZES, for the layers of a model of SIZES. Returns their names."""
    made = {f"{model}, {count} rows": dataclasses.replace(SIZES[model], rows=count, sequences=1, length=count) for count in rows}
    SIZES.update(made)
    return list(made)


SIZES |= {f"drawn {i + 1}": size for i, size in enumerate(drawn_sizes(DRAWN_FROM, 3))}
SHAPES = [(size.rows, size.inner, size.width) for size in SIZES.values()]  # M, N, K of an MLP


@dataclasses.dataclass(frozen=True)
class Layer(cells.Cell):
    """A layer at a size: a row of the table. Only blocks have size."""

    name: str = ""
    size: Size | None = None

    @property
    def key(self):
        """The identity of the layer, as words."""
        return (*super().key, self.name)

    @property
    def is_backward(self):
        """Whether the layer is a backward pass."""
        return self.operation.endswith(BACKWARD)

    @property
    def plain(self):
        """The operation without quantization."""
        return self.operation.removeprefix(FP8)

    @property
    def is_quantized(self):
        """Whether GEMMs have operands of 8 bits."""
        return self.operation.startswith(FP8)

    @property
    def forward(self):
        """The plain operation without the suffix of its backward pass."""
        return self.plain.removesuffix(BACKWARD)

    @property
    def weights(self):
        """Elements of all weight matrices."""
        if not self.size:
            return (PRODUCTS | REDUCED)[self.forward] * self.n * self.k
        return 3 * self.n * self.k + 2 * self.k**2 + 2 * self.size.groups * CHANNELS * self.k

    @property
    def flops(self):
        """FLOP of one rank's GEMMs and attention; causal attention computes half of the scores."""
        attention = self.m * self.size.length * self.k if self.size else 0
        return (2 * self.m * self.weights * (2 if self.is_backward else 1) + 2 * attention * (2.5 if self.is_backward else 1)) / self.ranks

    @property
    def params(self):
        """The parameters of the layer's specs."""
        if not self.size:
            return {"D": self.ranks, "M": self.m, "N": self.n, "K": self.k}
        size = self.size
        return {"D": self.ranks, "B": size.sequences, "L": size.length, "H": size.heads, "G": size.groups, "C": CHANNELS, "F": self.n}

    @property
    def sizes(self):
        """The arguments of the peers."""
        more = {"sequences": self.size.sequences, "heads": self.size.heads, "groups": self.size.groups} if self.size else {}
        return super().sizes | more

    @property
    def weight_bytes(self):
        """Bytes of the matrices of a rank and, in a backward pass, of their gradients."""
        return self.weights * cells.ELEMENT * (2 if self.is_backward else 1) / self.ranks

    @property
    def moved_bytes(self):
        """Bytes that a rank sends: a gather and a scatter, or two of each in a block."""
        return 2 * (2 if self.size else 1) * self.m * self.k * cells.ELEMENT * (self.ranks - 1) / self.ranks

    @property
    def check_flops(self):
        """FLOP of the reference, which every rank computes on whole tensors."""
        return self.flops * self.ranks

    @property
    def check_bytes(self):
        """Rough peak bytes of GPU memory of a check: weights, repeated for each rank, and the intermediate tensors; with 8 bits once more,
        for the bounds of rounding errors."""
        scores = 3 * self.m * self.size.length * self.size.heads if self.size else 0
        between = 5 * self.m * self.n + (2 + self.ranks) * self.m * self.k + scores
        return 4 * (self.weights * (1 + self.ranks) + between) * (2 if self.is_backward else 1) * (2 if self.is_quantized else 1)

    def held_bytes(self, programs):
        """Rough bytes of GPU memory that a number of programs and the peers hold: weights, their gradients, saved tensors, and the
        overhead of each process."""
        each = self.weights * (2 if self.is_backward else 1) / self.ranks + 4 * self.m * self.k + 6 * self.m * self.n / self.ranks
        return (programs + PEERS_HOLD) * (cells.ELEMENT * each + 0.8e9)

    def smaller(self, divisor):
        """The layer with its extents divided, to try the script."""
        size = self.size and dataclasses.replace(self.size, length=self.size.length // divisor, heads=self.size.heads // min(divisor, 4),
                                                 groups=self.size.groups // min(divisor, 4), inner=self.n // divisor)
        return layer(self.operation, self.name, size, self.ranks) if size else dataclasses.replace(
            self, m=self.m // divisor, n=self.n // divisor, k=self.k // divisor)


def layer(operation, name, size, ranks):
    """The layer of an operation at a size."""
    if operation.removeprefix(FP8).removesuffix(BACKWARD) in BLOCKS:
        return Layer(operation, size.sequences * size.length, size.inner, size.width, ranks, name=name, size=size)
    return Layer(operation, size.rows, size.inner, size.width, ranks, name=name)


def layers(ranks, operations, sizes=tuple(SIZES)):
    """Every layer at every size, size by size."""
    return [layer(operation, name, SIZES[name], ranks) for name in sizes for operation in OPERATIONS if operation in operations]


P2P = {"pipeline": "p2p"}

#: (label, spec without the layer's name, parameters, schedule) of mlp and swiglu.
FEED_FORWARD = [
    ("whole", "slices", {"S": 1}, EAGER),
    ("whole, graph", "slices", {"S": 1}, {**EAGER, **GRAPH}),
    ("collective, 2 slices", "slices", {"S": 2}, {}),
    ("collective, 4 slices", "slices", {"S": 4}, {}),
    ("p2p by NCCL", "p2p", {}, {**P2P, "all.via": "nccl"}),
    ("get", "p2p", {}, {**P2P, **GET}),
    ("get, local last", "p2p", {}, {**P2P, **GET, **LAST}),
    ("get, 2 a slice", "p2p", {}, {**P2P, **GET, **TWO_EACH}),
    ("get, 2 streams", "p2p", {}, {**P2P, **GET, **TWO}),
    ("get, graph", "p2p", {}, {**P2P, **GET, **GRAPH}),
    ("put", "p2p", {}, {**P2P, **PUT}),
    ("put, graph", "p2p", {}, {**P2P, **PUT, **GRAPH}),
    ("put, 2 a slice", "p2p", {}, {**P2P, **PUT, **TWO_EACH}),
    ("get, bracket", "p2p", {}, {**P2P, **GET, **TWO_EACH, **BRACKET}),
    ("put, bracket", "p2p", {}, {**P2P, **PUT, **TWO_EACH, **BRACKET}),
    ("put, bracket, 2 streams", "p2p", {}, {**P2P, **PUT, **TWO_EACH, **BRACKET, **TWO}),
    ("put, bracket, graph", "p2p", {}, {**P2P, **PUT, **TWO_EACH, **BRACKET, **GRAPH}),
    ("collective, 2 slices, ahead", "slices", {"S": 2}, AHEAD),
    ("collective, 4 slices, ahead", "slices", {"S": 4}, AHEAD),
    ("put, 2 sub-chunks, separate add", "p2p", {}, {**P2P, **PUT, **SEPARATE_ADD, **TWO_SUB_CHUNKS}),
    ("auto, p2p", "p2p", {}, {"preset": "auto"}),
    ("auto", "natural", {}, {"preset": "auto"}),
    ("auto, graph", "natural", {}, {"preset": "auto", **GRAPH}),
]

#: The specs of the forward swiglu, which have gate and up in one matrix.
MERGED = {("swiglu", form): f"swiglu_merged_{form}" for form in ("slices", "p2p")}

WHOLE = {"block": "llama_block", "block_sp": "llama_block_sp"}  # example specs without slices
#: Like FEED_FORWARD, for the blocks and for mlp_backward and swiglu_backward. "cut" is the spec with one slice per rank.
OTHERS = [
    ("whole", "whole", {}, EAGER),
    ("whole, graph", "whole", {}, {**EAGER, **GRAPH}),
    ("get, 2 streams", "cut", {}, {**P2P, **GET, **TWO}),
    ("put, graph", "cut", {}, {**P2P, **PUT, **GRAPH}),
    ("put, bracket, 2 streams", "cut", {}, {**P2P, **PUT, **TWO_EACH, **BRACKET, **TWO}),
    ("put, bracket, graph", "cut", {}, {**P2P, **PUT, **TWO_EACH, **BRACKET, **GRAPH}),
    ("auto, cut", "cut", {}, {"preset": "auto"}),
    ("auto", "natural", {}, {"preset": "auto"}),
    ("auto, graph", "natural", {}, {"preset": "auto", **GRAPH}),
]

#: For each layer, a spec with neither slices nor a schedule.
NATURAL = {operation: f"natural_{operation}" for name in PRODUCTS for operation in (name, name + BACKWARD)}
NATURAL |= {name: f"natural_{name}" for name in REDUCED}
NATURAL |= {name + suffix: f"llama_{name}{suffix}" for name in BLOCKS for suffix in ("", BACKWARD)}

#: Labels that are timed by default, without --all: those that were the fastest of some row.
USUAL = ["whole", "whole, graph", "get, local last", "get, 2 streams", "get, graph", "put, graph", "put, bracket, 2 streams", "put, bracket, graph", "auto, p2p",
         "auto, cut", "auto", "auto, graph"]


def of_layer(layer):
    """The variants of a layer."""
    quantize = QUANTIZED if layer.is_quantized else ""
    if quantize or layer.operation in REDUCED:
        own = [row for row in FEED_FORWARD if row[1] == "natural"]
        specs = {}
    elif layer.operation in PRODUCTS:
        own = FEED_FORWARD
        specs = {form: MERGED.get((layer.operation, form), f"{layer.operation}_{form}") for form in ("slices", "p2p")}
    else:
        own = OTHERS
        specs = {"whole": WHOLE.get(layer.operation, layer.operation), "cut": layer.operation}
    specs["natural"] = NATURAL[layer.plain]
    rows = [(label, specs[form], *rest) for label, form, *rest in own]
    return [programs.Variant(spec, {**layer.params, **extra}, schedule, label=label, quantize=quantize) for label, spec, extra, schedule in rows]


def of_row(row):
    """The layer of a row of a result."""
    size = Size(**row["size"]) if row.get("size") else None
    return Layer(row["operation"], row["m"], row["n"], row["k"], row["ranks"], name=row.get("name", ""), size=size)


def removed(row):
    """The share of the best peer's exposed communication that the best program removes. None if a time is missing, or if the best peer
    is as fast as the computation alone."""
    d = tables.derived(row)
    if not d["us"] or not d["peer_us"] or not d["gemm"] or d["peer_us"] <= d["gemm"]:
        return None
    return (d["peer_us"] - d["us"]) / (d["peer_us"] - d["gemm"])


def table(rows):
    """One line a layer: the best of both sides with the spread of their repeats, the time of auto, and the memory of both."""
    titles = ["layer", "size", "M, N, K", "compute", "best peer", "ms", "spread, %", "best hirgen", "ms", "spread, %", "peer / hirgen",
              "removed", "auto, ms", "peer / auto", "memory of peer, MB", "of hirgen", *tables.GRAPH_TITLES]
    lines = []
    for row in rows:
        d = tables.derived(row)
        auto = tables.median(row["hirgen"].get("auto"))
        peer, own = row["peers"].get(d["peer"], {}), row["hirgen"].get(d["label"], {})
        alike = row["peers"].get((d["peer"] or "").removesuffix(", graph"), {})  # a CUDA graph of PyTorch keeps its memory
        lines.append([row["operation"], row.get("name") or "-", tables.shape(row), tables.ms(d["gemm"]), d["peer"] or "-", tables.ms(d["peer_us"]),
                      spread(peer), d["label"] or "-", tables.ms(d["us"]), spread(own),
                      tables.number(d["against_peer"], 3), tables.number(removed(row), 2), tables.item_text(row["hirgen"].get("auto")),
                      tables.number(auto and d["peer_us"] and d["peer_us"] / auto, 3), megabytes(alike), megabytes(own),
                      *tables.graph_columns(row)])
    return tables.table(titles, lines)


def megabytes(item):
    """The memory that an item took, as text."""
    return tables.number(item["memory_bytes"] / 1e6 if item.get("memory_bytes") is not None else None, 0)


def spread(item):
    """How much longer the slowest repeat took than the fastest, in percent, as text."""
    return tables.number(100 * (max(item["us"]) / min(item["us"]) - 1) if item and item.get("us") else None, 1)


def summary(rows):
    """Lines with the mean of the removed shares and the distribution of the ratios."""
    shares = [share for share in map(removed, rows) if share is not None]
    ratios = [ratio for row in rows if (ratio := tables.derived(row)["against_peer"])]
    mean, capped = ((sum(own) / len(own) if own else None) for own in (shares, [min(share, 1) for share in shares]))
    return [f"Of the time between the best peer and the computation alone, {tables.number(mean, 2)} is removed, the mean of {len(shares)} rows; "
            f"{tables.number(capped, 2)} where no row counts for more than 1.",
            f"peer / hirgen: geometric mean {tables.number(tables.geometric_mean(ratios), 3)}, least {tables.number(min(ratios, default=None), 3)}, "
            f"{sum(ratio >= 1 for ratio in ratios)} of {len(ratios)} rows at 1 or more.", *missed(rows)]


def missed(rows):
    """Lines with the reason for each row that is slower than its best peer."""
    slower = [row for row in rows if (tables.derived(row)["against_peer"] or 1) < 1]
    lines = [f"- {row['operation']} {row.get('name', '')}: {tables.number(tables.derived(row)['against_peer'], 3)}; "
             f"{kernel_classes.lost_by(row) or 'not explained'}" for row in slower]
    return ["", "Rows below 1, and where the call is longer than the peer's:", "", *lines] if lines else []


def markdown(result):
    """The report of bench_layers.py."""
    rows = result["rows"]
    parts = [f"{result['machine']}\n", table(rows), "", *summary(rows)]
    for operation in dict.fromkeys(row["operation"] for row in rows):
        own = [row for row in rows if row["operation"] == operation]
        parts += [part for group in ("peers", "hirgen") for part in (f"\n{operation}, {group}, ms:\n", tables.items_table(own, group))]
    parts += [kernel_classes.markdown(row) for row in rows if "explained" in row]
    refused = tables.refusals(rows)
    return "\n".join(parts + (["\nNot measured:\n", *refused] if refused else [])) + "\n"
