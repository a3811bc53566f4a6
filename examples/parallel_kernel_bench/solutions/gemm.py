"""Problems 11 to 16: products whose operands or results are split over ranks."""

import torch.distributed as dist

from . import solves


@solves("11_allgather_gemm_AT")
def allgather_gemm_transposed(program, A_local, B):
    """A B, where each rank has some columns of A, and the transpose of A is gathered."""
    return program(A_local, B)


@solves("12_allgather_gemm")
def allgather_gemm(program, A_local, B):
    """A B, where each rank has some columns of A."""
    return program(A_local, B)


@solves("13_gemm_allreduce")
def gemm_allreduce(program, A_local, B_local):
    """The sum of the ranks' products, on every rank."""
    return program(A_local, B_local)


@solves("14_gemm_allgather")
def gemm_allgather(program, A, B):
    """The ranks' products next to each other, on every rank."""
    return program(A, B)


@solves("15_combined_sharded_gemms")
def combined_sharded_gemms(program, x_local, W1, W2):
    """Some rows of silu(X W1) W2 on each rank, where each rank has some columns of X."""
    ranks = dist.get_world_size()
    return program(x_local.view(ranks, -1, x_local.shape[1]), W1, W2)


@solves("16_gemm_reducescatter")
def gemm_reducescatter(program, A_local, B_local):
    """Some rows of A B on each rank, where each rank has some columns of A and the same rows of B."""
    return program(A_local, B_local)
