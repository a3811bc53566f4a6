"""PyTorch's implementations of the operations of cells.py and sums.py.

    gemm                 torch.mm into a given output, the GEMM alone.
    collective           NCCL's allgather, reduce-scatter or allreduce alone.
    eager                both, one after the other, on one stream.
    async_tp             torch.ops.symm_mem.fused_all_gather_matmul or fused_matmul_reduce_scatter.
    async_tp symmetric   fused_all_gather_matmul with its input already in symmetric memory.
    one_shot             the GEMM into symmetric memory, then torch.ops.symm_mem.one_shot_all_reduce: each rank reads all partial sums.
    two_shot             the same with two_shot_all_reduce_: each rank sums its share and gives it to the others.
    compiled             a sum by NCCL, then residual and norm as one kernel by torch.compile.
    one_shot compiled    a sum that is read from symmetric memory, then the same kernel.
    two_shot compiled    a sum in symmetric memory, then the same kernel.
    ..., graph           each of these in a CUDA graph, of as many calls as a program of hirgen has in its graph.
"""
import functools

import torch
import torch.distributed as dist

from layer_models import EPSILON
from on_gpu import Captured, empty, normal, symmetric

# Each of the functions in OPERATIONS returns the calls of an operation's peers by name. The peers most likely to
# fail come last. A peer allocates symmetric memory in its first call, so that a failed allocation affects no other
# peer.


def ag_matmul(group, m, n, k):
    """Allgather of A, then the GEMM."""
    ranks, name = group.size(), group.group_name
    a, b, out = normal(m // ranks, k), normal(k, n), empty(m, n)
    full = empty(m, k)
    dist.all_gather_into_tensor(full, a)
    shared = shared_tensor(group, m // ranks, k)

    def eager():
        dist.all_gather_into_tensor(full, a)
        torch.mm(full, b, out=out)

    return {
        "gemm": lambda: torch.mm(full, b, out=out),
        "collective": lambda: dist.all_gather_into_tensor(full, a),
        "eager": eager,
        "async_tp": lambda: torch.ops.symm_mem.fused_all_gather_matmul(a, [b], 0, name),
        "async_tp symmetric": lambda: torch.ops.symm_mem.fused_all_gather_matmul(shared(), [b], 0, name, return_A=False),
    }


def matmul_rs(group, m, n, k):
    """The GEMM, then a reduce-scatter of rows."""
    ranks, name = group.size(), group.group_name
    a, b, part, out = normal(m, k), normal(k, n), normal(m, n), empty(m // ranks, n)

    def eager():
        torch.mm(a, b, out=part)
        dist.reduce_scatter_tensor(out, part)

    return {
        "gemm": lambda: torch.mm(a, b, out=part),
        "collective": lambda: dist.reduce_scatter_tensor(out, part),
        "eager": eager,
        "async_tp": lambda: torch.ops.symm_mem.fused_matmul_reduce_scatter(a, b, "sum", 0, name),
    }


def matmul_ar(group, m, n, k):
    """The GEMM, then an allreduce. PyTorch has no overlapped form of it."""
    name, a, b, part = group.group_name, normal(m, k), normal(k, n), normal(m, n)
    shared = shared_tensor(group, m, n)

    def eager():
        torch.mm(a, b, out=part)
        dist.all_reduce(part)

    def one_shot():
        return torch.ops.symm_mem.one_shot_all_reduce(torch.mm(a, b, out=shared()), "sum", name)

    def two_shot():
        return torch.ops.symm_mem.two_shot_all_reduce_(torch.mm(a, b, out=shared()), "sum", name)

    return {
        "gemm": lambda: torch.mm(a, b, out=part),
        # AVG, since repeated sums in place would overflow.
        "collective": lambda: dist.all_reduce(part, op=dist.ReduceOp.AVG),
        "eager": eager,
        "one_shot": one_shot,
        "two_shot": two_shot,
    }


def allreduce_residual_norm(group, m, n):
    """A sum of m rows, added to a residual, and the RMS norm of the result. Sums in place add zeros, which do not grow when the sum is
    repeated; zeros take as long as other values."""
    name, part, residual, scale = group.group_name, torch.zeros_like(empty(m, n)), normal(m, n), torch.ones_like(empty(n))
    shared, zeros = shared_tensor(group, m, n), shared_tensor(group, m, n, zero=True)
    norm = torch.compile(residual_norm, dynamic=False)

    def compiled():
        dist.all_reduce(part)
        return norm(part, residual, scale)

    def one_shot():
        return norm(torch.ops.symm_mem.one_shot_all_reduce(shared(), "sum", name), residual, scale)

    def two_shot():
        return norm(torch.ops.symm_mem.two_shot_all_reduce_(zeros(), "sum", name), residual, scale)

    return {"collective": lambda: dist.all_reduce(part), "compiled": compiled, "one_shot compiled": one_shot, "two_shot compiled": two_shot}


def residual_norm(total, residual, scale):
    """(the new residual, its norm), as the spec allreduce_residual_norm."""
    x = residual.float() + total.float()
    return x.to(total.dtype), (x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPSILON) * scale.float()).to(total.dtype)


def shared_tensor(group, *shape, zero=False):
    """A function that returns a tensor in symmetric memory, which its first call makes: random normal, or zeros."""
    @functools.cache
    def made():
        tensor = symmetric(group, *shape)[0]
        return tensor.zero_() if zero else tensor
    return made


OPERATIONS = {"ag_matmul": ag_matmul, "matmul_rs": matmul_rs, "matmul_ar": matmul_ar, "allreduce_residual_norm": allreduce_residual_norm}


def load(operation, group, calls_per_graph, **sizes):
    """The peers of an operation by name, each as it is and in a CUDA graph."""
    made = OPERATIONS[operation](group, **sizes)
    return made | {f"{name}, graph": Captured(call, calls_per_graph) for name, call in made.items()}
