"""Problems 47 to 53: layers and steps of FSDP, tensor and expert parallelism, and gradients and parameters of 8 bits."""

import torch
import torch.distributed as dist

from . import solves


@solves("47_fsdp_step_e2e")
def fsdp_step(program, x, y, shard, _shapes, m, v, *numbers):
    """A step of AdamW for a network of two layers: parameters are gathered, gradients reduced and scattered."""
    return program(x, y, shard, m, v, torch.full((), numbers[-1], dtype=torch.float32, device=x.device))


def _factors(ranks: int) -> dict[str, int]:
    """The numbers of ranks for tensor parallelism (T) and FSDP (F), as the benchmark chooses them."""
    tensor = next((n for n in range(2, ranks) if ranks % n == 0 and ranks // n >= 2), 1)
    return {"T": tensor, "F": ranks // tensor}


@solves("48_fsdp_and_tp", _factors)
def fsdp_tp(program, x, w1, w2, w3, _tensor, _fsdp):
    """An MLP with silu whose weights are gathered over one mesh axis, and split over the other."""
    return program(x, w1, w2, w3)


def _experts(program, tokens, router, bias, *layers):
    """The result of a layer of experts that are split over ranks. The program takes the weights of one MLP on each rank."""
    weights = [weight for layer in layers[:3] for weight in (layer.weight, layer.bias)]
    with torch.no_grad():
        return program(tokens, router, bias, *weights).view(tokens.shape)


@solves("49_moe_ep_balanced")
def moe_balanced(program, *arguments):
    """An expert on each rank."""
    return _experts(program, *arguments)


@solves("50_moe_ep_wide")
def moe_wide(program, *arguments):
    """Two experts on each rank."""
    return _experts(program, *arguments)


def _groups(ranks: int) -> dict[str, int]:
    """The numbers of groups of ranks (G), of experts (E), and of the experts of a token (K). There are fewer experts than ranks, as in the
    benchmark."""
    experts = next((n for n in range(ranks // 2, 1, -1) if ranks % n == 0), 1)
    return {"G": ranks // experts, "E": experts, "K": min(2, experts)}


@solves("51_moe_ep_narrow", _groups)
def moe_narrow(program, *arguments):
    """An expert on each rank of a group. Each group of ranks has all experts."""
    return _experts(program, *arguments)


@solves("52_fp8_reduce_scatter_grads")
def fp8_reduce_scatter(program, grads, history):
    """The mean of gradients that were rounded to 8 bits, and the history of their largest magnitudes."""
    return program(grads.view(dist.get_world_size(), -1), history)


@solves("53_fp8_allgather_params")
def fp8_allgather(program, shard, history):
    """Parameters of all ranks, which were rounded to 8 bits, and the history of their largest magnitudes."""
    full, history = program(shard, history)
    return full.view(-1), history
