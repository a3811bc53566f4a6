"""The measurements of bounds.py as calls of PyTorch, on all GPUs at once.

GEMMs and copies do not depend on each other, so the measurements show how they share power, memory bandwidth and SMs.
Copy engines copy from the symmetric memory of the other ranks; during GEMMs they do it on a separate stream, as in PyTorch's
async tensor parallelism.
"""
import functools

import torch

import bounds
from on_gpu import empty, normal, symmetric


class Problem:
    """The tensors of a shape. A is [M, K], of which each rank shares [M/d, K], and partial sums are [M, N]."""

    def __init__(self, group, m, n, k):
        self.ranks, self.rank, self.rows, self.n, self.k = group.size(), group.rank(), m // group.size(), n, k
        self.a, self.b = normal(m, k), normal(k, n)
        self.own, self.peers_own = symmetric(group, self.rows, k)
        self.parts, self.peers_parts = symmetric(group, m, n)
        self.received, self.gathered = normal(self.ranks, self.rows, n), normal(self.ranks, self.rows, n)
        self.total = empty(self.rows, n)
        self.stream = torch.cuda.Stream()

    @property
    def others(self):
        """The other ranks, beginning with the next rank."""
        return [(self.rank + step) % self.ranks for step in range(1, self.ranks)]

    def part(self, peer, i):
        """Shard i of a peer's partial sum."""
        return self.peers_parts.get_buffer(peer, (self.rows, self.n), torch.bfloat16, i * self.rows * self.n)

    def copies(self, operation):
        """[(to, from)] of the copies to this rank in an operation."""
        if operation == "ag_matmul":
            return [(self.a[peer * self.rows:][:self.rows], self.peers_own.get_buffer(peer, (self.rows, self.k), torch.bfloat16))
                    for peer in self.others]
        received = [(self.received[peer], self.part(peer, self.rank)) for peer in self.others]
        return received + [(self.gathered[peer], self.part(peer, peer)) for peer in self.others if operation == "matmul_ar"]

    def cut(self, parts):
        """[(rows of A, rows of the result)] of each GEMM; if M is no multiple of parts, sizes differ by one row."""
        m = self.ranks * self.rows
        ends = [m * i // parts for i in range(parts + 1)]
        return [(self.a[i:j], self.parts[i:j]) for i, j in zip(ends, ends[1:])]

    def multiply(self, pieces):
        """Runs the GEMMs, one after the other."""
        for rows, out in pieces:
            torch.mm(rows, self.b, out=out)

    def beside(self, pieces, copies):
        """Runs the GEMMs and the copies at the same time, between a fork and a join."""
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            copy(copies)
        self.multiply(pieces)
        torch.cuda.current_stream().wait_stream(self.stream)

    def add(self):
        """Sums the received partial sums, in fp32."""
        torch.sum(self.received, 0, out=self.total)

    def as_many_bytes(self):
        """(to, from) of a copy that reads and writes as many bytes in all as the sum."""
        elements = (self.ranks + 1) * self.rows * self.n // 2
        return self.gathered.view(-1)[:elements], self.received.view(-1)[:elements]


def copy(pairs):
    """Copies, one after the other."""
    for to, source in pairs:
        to.copy_(source)


def calls(group, m, n, k, operations):
    """{name: call} of all measurements of bounds.names."""
    problem, made = Problem(group, m, n, k), {}
    cuts = {parts: problem.cut(parts) for parts in bounds.cuts(group.size())}
    for parts, pieces in cuts.items():
        made[bounds.product(parts)] = functools.partial(problem.multiply, pieces)
    for operation in operations:
        copies = problem.copies(operation)
        made[bounds.copies(operation)] = functools.partial(copy, copies)
        for parts in bounds.cuts_beside(group.size()):
            made[bounds.beside(operation, parts)] = functools.partial(problem.beside, cuts[parts], copies)
    made[bounds.SUM] = problem.add
    made[bounds.AS_MANY_BYTES] = functools.partial(copy, [problem.as_many_bytes()])
    made[bounds.ONE_SLICE] = functools.partial(copy, problem.copies("matmul_rs")[:1])
    return made
