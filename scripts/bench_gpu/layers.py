"""Layers of a tensor-parallel model, as further cells: what is compared, and the programs of hirgen.

    mlp           rows of X [M/d, K] on each rank;  Y = reduce_scatter(gelu(allgather(X) W1) W2)  is [M/d, K] on each rank
    swiglu        the same with silu(. Wg) (. Wu) in place of gelu(. W1)
    mlp_backward  dX, dW1, dW2 of mlp, given dY [M/d, K] on each rank and what the forward pass left
    block         X [M, K] on every rank;  layer norm, causal attention on its heads, allreduce, layer norm, mlp, allreduce
    block_sp      the same with X [M/d, K] on each rank: allgathers before the attention and the mlp, reduce-scatters after them

M rows (tokens) in all, width K and inner width N; a rank has N/d columns of W1 [K, N/d], Wg and Wu, and N/d rows of W2. The
specs are in specs/, and swiglu_tp is an example spec. Peers are in layer_peers.py; "compute" is what they multiply and add without
any communication.
"""
import dataclasses

import cells
import programs
import tables
from variants import AHEAD, SEPARATE_ADD, BRACKET, EAGER, GET, GRAPH, LAST, PUT, TWO, TWO_EACH, TWO_SUB_CHUNKS

CHANNELS = 128  # of a head
SHAPES = [(8192, 14336, 4096), (4096, 28672, 8192), (1024, 14336, 4096)]  # M, N, K of an MLP
BLOCKS = [(2, 4096, 16384, 4096), (1, 4096, 28672, 8192)]  # sequences, and M, N, K
PRODUCTS = {"mlp": 2, "swiglu": 3, "mlp_backward": 4}  # of M, N and K/d
OPERATIONS = [*PRODUCTS, "block", "block_sp"]


@dataclasses.dataclass(frozen=True)
class Layer(cells.Cell):
    """A layer of some size: a row of the table."""

    sequences: int = 0  # that a block's attention is within

    @property
    def length(self):
        """Tokens of a sequence."""
        return self.m // self.sequences

    @property
    def flops(self):
        """Of one rank's products."""
        if not self.sequences:
            return 2 * PRODUCTS[self.operation] * self.m * self.n * self.k // self.ranks
        return (8 * self.m * self.k**2 + 4 * self.m * self.n * self.k + 4 * self.m * self.length * self.k) // self.ranks

    @property
    def params(self):
        """The parameters of the layer's specs."""
        if not self.sequences:
            return {"D": self.ranks, "M": self.m, "N": self.n, "K": self.k}
        return {"D": self.ranks, "B": self.sequences, "L": self.length, "H": self.k // CHANNELS, "C": CHANNELS, "F": self.n}

    @property
    def sizes(self):
        """What the peers need to know of it."""
        return super().sizes | ({"sequences": self.sequences} if self.sequences else {})

    @property
    def moved_bytes(self):
        """Bytes that a rank sends: of a gather and a scatter, and of twice as many in a block."""
        return 2 * (2 if self.sequences else 1) * self.m * self.k * cells.ELEMENT * (self.ranks - 1) / self.ranks

    @property
    def check_flops(self):
        """Of the reference, which every rank evaluates on whole tensors."""
        return self.flops * self.ranks

    @property
    def check_bytes(self):
        """Memory of a GPU that a check takes at its height, roughly: weights once more for every rank, and what is between."""
        weights = 2 * self.n * self.k if not self.sequences else 2 * self.n * self.k + 4 * self.k**2
        scores = 3 * self.m * self.length * self.k // CHANNELS if self.sequences else 0
        return 4 * (weights * (1 + self.ranks) + 5 * self.m * self.n + (2 + self.ranks) * self.m * self.k + scores)


def layers(ranks, operations):
    """Every layer at every size, the ones that have goals first."""
    made = [Layer(operation, *shape, ranks) for shape in SHAPES for operation in PRODUCTS]
    made += [Layer(operation, *shape, ranks, sequences=sequences) for sequences, *shape in BLOCKS for operation in ("block", "block_sp")]
    return sorted((layer for layer in made if layer.operation in operations), key=lambda layer: OPERATIONS.index(layer.operation) > 1)


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
    ("put, 2 a slice", "p2p", {}, {**P2P, **PUT, **TWO_EACH}),
    ("get, bracket", "p2p", {}, {**P2P, **GET, **TWO_EACH, **BRACKET}),
    ("put, bracket", "p2p", {}, {**P2P, **PUT, **TWO_EACH, **BRACKET}),
    ("put, bracket, 2 streams", "p2p", {}, {**P2P, **PUT, **TWO_EACH, **BRACKET, **TWO}),
    ("put, bracket, graph", "p2p", {}, {**P2P, **PUT, **TWO_EACH, **BRACKET, **GRAPH}),
    ("collective, 2 slices, ahead", "slices", {"S": 2}, AHEAD),
    ("collective, 4 slices, ahead", "slices", {"S": 4}, AHEAD),
    ("put, 2 sub-chunks, separate add", "p2p", {}, {**P2P, **PUT, **SEPARATE_ADD, **TWO_SUB_CHUNKS}),
    ("auto", "p2p", {}, {"preset": "auto"}),
]
FORMS = {("swiglu", "slices"): "swiglu_tp"}  # what is an example spec of another name
OTHERS = {operation: [("whole", operation, {}, {}), ("whole, graph", operation, {}, GRAPH)] for operation in OPERATIONS[2:]}


def of_layer(layer):
    """The variants of a layer."""
    rows = OTHERS.get(layer.operation) or [(label, FORMS.get((layer.operation, form), f"{layer.operation}_{form}"), *rest)
                                           for label, form, *rest in FEED_FORWARD]
    return [programs.Variant(spec, {**layer.params, **extra}, schedule, label=label) for label, spec, extra, schedule in rows]


def table(rows):
    """One line a layer: the best of both sides, with the spread of their repeats."""
    titles = ["layer", "M, N, K", "compute", "best peer", "ms", "spread, %", "best hirgen", "ms", "spread, %", "peer / hirgen",
              "compute / hirgen"]
    lines = []
    for row in rows:
        d = tables.derived(row)
        lines.append([row["operation"], tables.shape(row), tables.ms(d["gemm"]), d["peer"] or "-", tables.ms(d["peer_us"]),
                      spread(row["peers"].get(d["peer"])), d["label"] or "-", tables.ms(d["us"]), spread(row["hirgen"].get(d["label"])),
                      tables.number(d["against_peer"], 3), tables.number(d["against_gemm"], 3)])
    return tables.table(titles, lines)


def spread(item):
    """The slowest repeat above the fastest one, in percents, as text."""
    return tables.number(100 * (max(item["us"]) / min(item["us"]) - 1) if item and item.get("us") else None, 1)


def markdown(rows):
    """The report of the section; nothing where it was not asked for."""
    if not rows:
        return ""
    parts = ["\nLayers:\n", table(rows)]
    for operation in dict.fromkeys(row["operation"] for row in rows):
        own = [row for row in rows if row["operation"] == operation]
        parts += [part for group in ("peers", "hirgen") for part in (f"\n{operation}, {group}, ms:\n", tables.items_table(own, group))]
    refused = tables.refusals(rows)
    return "\n".join(parts + (["\nNot measured:\n", *refused] if refused else [])) + "\n"
