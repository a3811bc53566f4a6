"""The measurements of bounds.py as calls of PyTorch, on all GPUs at once.

No product waits for a copy and no copy for a product: side by side they take what the hardware makes them take,
which shares its power, memory and multiprocessors among them. Copies are by copy engines from the symmetric memory of
the other ranks, on a stream of their own, as PyTorch's async tensor parallelism makes them.
"""
import functools

import torch

import bounds
from on_gpu import empty, normal, symmetric


class Problem:
    """The tensors of a shape. A is [M, K], of which each rank shares [M/d, K], and the parts of a sum are [M, N]."""

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
        """The other ranks, each rank beginning with the next one."""
        return [(self.rank + step) % self.ranks for step in range(1, self.ranks)]

    def part(self, peer, i):
        """Slice i of the parts of a peer."""
        return self.peers_parts.get_buffer(peer, (self.rows, self.n), torch.bfloat16, i * self.rows * self.n)

    def copies(self, operation):
        """(to, from) of what an operation brings to a rank."""
        if operation == "ag_matmul":
            return [(self.a[peer * self.rows:][:self.rows], self.peers_own.get_buffer(peer, (self.rows, self.k), torch.bfloat16))
                    for peer in self.others]
        received = [(self.received[peer], self.part(peer, self.rank)) for peer in self.others]
        return received + [(self.gathered[peer], self.part(peer, peer)) for peer in self.others if operation == "matmul_ar"]

    def cut(self, parts):
        """(rows of A, rows of the result) of each product; where M is no multiple of parts they differ by a row."""
        m = self.ranks * self.rows
        ends = [m * i // parts for i in range(parts + 1)]
        return [(self.a[i:j], self.parts[i:j]) for i, j in zip(ends, ends[1:])]

    def multiply(self, pieces):
        """The products, one after the other."""
        for rows, out in pieces:
            torch.mm(rows, self.b, out=out)

    def beside(self, pieces, copies):
        """The products while the copies go on; both begin and end together with the call."""
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            copy(copies)
        self.multiply(pieces)
        torch.cuda.current_stream().wait_stream(self.stream)

    def add(self):
        """Sums the parts that arrived, in fp32."""
        torch.sum(self.received, 0, out=self.total)

    def as_many_bytes(self):
        """(to, from) that read and write together as many bytes as the sum does."""
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
