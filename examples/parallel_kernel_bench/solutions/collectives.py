"""Problems 1 to 8, 27, 30 and 33 to 35: collectives."""

import torch.distributed as dist

from . import solves


@solves("1_allreduce")
def allreduce(program, tensor):
    """The sum of the ranks' tensors, on every rank."""
    return program(tensor)


@solves("2_allgather")
def allgather(program, tensor):
    """The ranks' tensors one after the other, on every rank."""
    return program(tensor)


@solves("3_broadcast")
def broadcast(program, tensor, src=0):
    """The tensor of the first rank, on every rank."""
    assert src == 0
    return program(tensor if dist.get_rank() == 0 else None)


@solves("4_reduce")
def reduce(program, tensor, dst=0):
    """The sum of the ranks' tensors on the first rank. The other ranks return their own tensors."""
    assert dst == 0
    whole = program(tensor)
    return tensor if whole is None else whole


@solves("5_scatter")
def scatter(program, tensor, src=0):
    """On each rank, its part of the tensor of the first rank."""
    assert src == 0
    return program(tensor if dist.get_rank() == 0 else None)


@solves("6_gather")
def gather(program, tensor, dst=0):
    """The ranks' tensors one after the other on the first rank. The other ranks return their own tensors."""
    assert dst == 0
    whole = program(tensor)
    return tensor if whole is None else whole


@solves("7_reducescatter")
def reducescatter(program, tensor):
    """A part of the sum of the ranks' tensors, on each rank."""
    return program(tensor.view(dist.get_world_size(), -1, tensor.shape[1]))


@solves("8_alltoall")
def alltoall(program, tensor):
    """On rank r, part r of each rank's tensor."""
    return program(tensor)


@solves("27_moe_all2all_primitive")
def moe_alltoall(program, local_tensor, input_split_sizes, output_split_sizes, group=None):
    """On rank r, part r of the rows of each rank. All parts have the same size."""
    ranks = dist.get_world_size()
    assert set(input_split_sizes) == set(output_split_sizes) == {len(local_tensor) // ranks}
    return program(local_tensor.view(ranks, -1, local_tensor.shape[1])).view(local_tensor.shape)


@solves("30_moe_epgroupgemm_lora_backward")
def three_allreduces(program, grad_fc1_1, grad_fc1_2, grad_fc2, group=None):
    """The sums of three gradients, on every rank."""
    return program(grad_fc1_1, grad_fc1_2, grad_fc2)


@solves("33_ulysses_all_to_all_tensor_primitive")
def ulysses_alltoall(program, x, scatter_dim, gather_dim, group=None):
    """On rank r, block r of the rows of each rank. The blocks are next to each other."""
    assert (scatter_dim, gather_dim) == (0, 1)
    ranks = dist.get_world_size()
    return program(x.view(ranks, -1, x.shape[1])).view(-1, ranks * x.shape[1])


@solves("34_ulysses_all_gather_into_tensor_primitive")
def ulysses_allgather(program, x, group=None):
    """The rows of all ranks, on every rank."""
    return program(x)


@solves("35_ulysses_all_gather_variable_primitive")
def ulysses_allgather_variable(program, x, gather_dim, group=None):
    """The rows of all ranks, on every rank. The program has fixed sizes, so the ranks need not exchange them."""
    assert gather_dim == 0
    return program(x)
