"""The cells of the benchmark: operations at shapes. A shape is M, N, K of the GEMM that each GPU runs.

    ag_matmul: A is [M/d, K] and B [K, N] on each rank;  C = allgather(A) B       is [M, N]   on each rank.
    matmul_rs: A is [M, K]   and B [K, N] on each rank;  C = reduce_scatter(A B)  is [M/d, N] on each rank.
    matmul_ar: A is [M, K]   and B [K, N] on each rank;  C = all_reduce(A B)      is [M, N]   on each rank.
"""
import dataclasses
import math

#: The most important shapes first, for runs with little time.
SHAPES = [
    (32768, 8192, 16384),
    (8192, 8192, 8192),
    (1024, 8192, 8192),
    (2048, 3584, 8192),
    (4096, 4096, 4096),
    (8192, 8192, 3584),
    (16384, 2048, 8192),
]
OPERATIONS = ["ag_matmul", "matmul_rs", "matmul_ar"]

#: Expected FLOP/s of GEMMs, bytes/s of links and of memory, and seconds of the shortest call, for estimates of the time of a call.
PRODUCT_FLOPS, LINK_BYTES, MEMORY_BYTES, LEAST_SECONDS = 650e12, 330e9, 3e12, 20e-6
#: The calls in a CUDA graph take GRAPH_SECONDS together, but there are at most MOST_IN_GRAPH. So its launch adds little to a call.
GRAPH_SECONDS, MOST_IN_GRAPH = 1e-3, 50
ELEMENT = 2  # bytes of bf16


@dataclasses.dataclass(frozen=True)
class Cell:
    """An operation at a shape on a number of ranks: one row of the tables."""

    operation: str
    m: int
    n: int
    k: int
    ranks: int
    is_tiny: bool = False  # only the launches and synchronisation take time

    @property
    def key(self):
        """The identity of the cell, as words."""
        return self.operation, self.m, self.n, self.k, self.ranks, "tiny" if self.is_tiny else ""

    @property
    def flops(self):
        """FLOP of one rank's GEMM."""
        return 2 * self.m * self.n * self.k

    @property
    def params(self):
        """The parameters of the operation's specs. They have K of all ranks if the sum over K is split over ranks."""
        whole_k = self.k if self.operation == "ag_matmul" else self.k * self.ranks
        return {"D": self.ranks, "M": self.m, "N": self.n, "K": whole_k}

    @property
    def sizes(self):
        """The arguments of the peers, in addition to the operation."""
        return {"m": self.m, "n": self.n, "k": self.k}

    @property
    def moved_bytes(self):
        """Bytes that a rank sends."""
        others = (self.ranks - 1) / self.ranks
        if self.operation == "ag_matmul":
            return self.m * self.k * ELEMENT * others
        return self.m * self.n * ELEMENT * others * (2 if self.operation == "matmul_ar" else 1)

    @property
    def weight_bytes(self):
        """Bytes of the matrices that a rank reads however few rows there are."""
        return self.n * self.k * ELEMENT

    @property
    def expected_seconds(self):
        """A rough estimate of the time of a fast call."""
        return max(self.flops / PRODUCT_FLOPS, self.moved_bytes / LINK_BYTES, self.weight_bytes / MEMORY_BYTES, LEAST_SECONDS)

    def in_graph(self, asked=0):
        """The number of calls in a CUDA graph, on both sides: asked, or if asked is 0, as many as take GRAPH_SECONDS together: at
        least one, and at most MOST_IN_GRAPH."""
        return asked or max(1, min(MOST_IN_GRAPH, round(GRAPH_SECONDS / self.expected_seconds)))

    @property
    def check_flops(self):
        """FLOP of the reference, which every rank computes on whole tensors."""
        p = self.params
        return 2 * p["M"] * p["N"] * p["K"]

    @property
    def check_bytes(self):
        """Peak bytes of GPU memory of a check: whole tensors in fp32. The reference of a sum over ranks is a batched product, with B
        repeated for each rank, and keeps the partial sum of each rank."""
        p, slices = self.params, 0 if self.operation == "ag_matmul" else self.ranks
        return 4 * (p["M"] * p["K"] + p["K"] * p["N"] * (1 + slices) + p["M"] * p["N"] * (1 + slices))

    def calls(self, seconds, repeats, least, warm=0, in_graph=1):
        """(warm-up calls, calls per repeat). The warm-up lasts for warm seconds or half of seconds, whichever is longer, and all repeats
        together last for seconds. There are at least 3 warm-up calls and least calls per repeat. Both are rounded up to multiples of
        in_graph."""
        iters = max(least, math.ceil(seconds / repeats / self.expected_seconds))
        warmup = max(3, math.ceil(max(warm, seconds / 2) / self.expected_seconds))
        return tuple(in_graph * math.ceil(count / in_graph) for count in (warmup, iters))


def cells(ranks, shapes, operations):
    """Every operation at every shape, the most important first."""
    return [Cell(operation, *shape, ranks) for shape in shapes for operation in operations]


def tiny_cell(ranks):
    """An allgather of 1 KB a rank and a GEMM, to measure the overhead of a call."""
    return Cell("ag_matmul", ranks, 64, 512, ranks, is_tiny=True)
