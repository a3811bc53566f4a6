"""Sums of few rows over ranks, then the residual and the RMS norm, as cells of the benchmark.

A rank has a partial sum [M, 8192], in 16 KB a row, and all ranks have the residual. Each rank gets the new residual and its norm. Both sides
are timed in CUDA graphs of MOST_IN_GRAPH calls, too: at these sizes, a launch from the host takes as long as a call.
"""
import dataclasses

import cells
import programs
import tables
from variants import EAGER, FUSED, GET, GRAPH, KERNEL, PUT

OPERATION = "allreduce_residual_norm"
WIDTH = 8192
ROWS = [1, 16, 64, 128, 256]
P2P = {"pipeline": "p2p"}

#: (label, schedule) of the programs.
PROGRAMS = [
    ("auto", {}),
    ("auto, graph", {"preset": "auto", **GRAPH}),
    ("eager, graph", {**EAGER, **GRAPH}),
    ("get, graph", {**P2P, **GET, **GRAPH}),
    ("get by kernels, graph", {**P2P, **GET, **KERNEL, **GRAPH}),
    ("get, fused, graph", {**P2P, **GET, **FUSED, **GRAPH}),
    ("put by kernels, graph", {**P2P, **PUT, **KERNEL, **GRAPH}),
    ("put, fused, graph", {**P2P, **PUT, **FUSED, **GRAPH}),
]


@dataclasses.dataclass(frozen=True)
class Sum(cells.Cell):
    """A sum of m rows of n elements."""

    @property
    def params(self):
        """The parameters of the spec."""
        return {"D": self.ranks, "M": self.m, "H": self.n}

    @property
    def sizes(self):
        """The arguments of the peers, in addition to the operation."""
        return {"m": self.m, "n": self.n}

    @property
    def moved_bytes(self):
        """Bytes that a rank sends, if it sends parts of the sum and then the sum."""
        return 2 * self.m * self.n * cells.ELEMENT * (self.ranks - 1) / self.ranks

    @property
    def check_flops(self):
        """FLOP of the reference, which every rank computes on whole tensors."""
        return self.m * self.n * (self.ranks + 5)

    @property
    def check_bytes(self):
        """Rough peak bytes of GPU memory of a check: whole tensors in fp32, and their bounds."""
        return 8 * self.m * self.n * (self.ranks + 8)

    def in_graph(self, asked=0):
        """The calls of a CUDA graph, on both sides."""
        return asked or cells.MOST_IN_GRAPH


def sums(ranks, rows):
    """A cell for each number of rows."""
    return [Sum(OPERATION, m, WIDTH, 1, ranks) for m in rows]


def of_cell(cell):
    """The programs of a cell."""
    return [programs.Variant(OPERATION, cell.params, schedule, label=label) for label, schedule in PROGRAMS]


def table(rows):
    """One line a row: the best of both sides, in microseconds."""
    lines = []
    for row in rows:
        d = tables.derived(row)
        lines.append([str(row["m"]), str(row["m"] * row["n"] * cells.ELEMENT // 1024), tables.number(d["collective"], 1), d["peer"] or "-",
                      tables.number(d["peer_us"], 1), d["label"] or "-", tables.number(d["us"], 1), tables.number(d["against_peer"], 2),
                      *tables.graph_columns(row)])
    return tables.table(["rows", "KB", "NCCL's sum alone, us", "best peer", "us", "best hirgen", "us", "peer / hirgen", *tables.GRAPH_TITLES], lines)


def markdown(rows):
    """The report of the section; empty without rows."""
    if not rows:
        return ""
    parts = [f"\nA sum over ranks, residual and RMS norm of rows of {WIDTH}:\n", table(rows)]
    parts += [part for group in ("peers", "hirgen") for part in (f"\n{OPERATION}, {group}, ms:\n", tables.items_table(rows, group))]
    refused = tables.refusals(rows)
    return "\n".join(parts + (["\nNot measured:\n", *refused] if refused else [])) + "\n"
