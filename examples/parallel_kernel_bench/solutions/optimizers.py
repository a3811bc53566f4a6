"""Problems 40 to 45: steps of optimizers, and sums of gradients."""

import torch
import torch.distributed as dist

from . import solves
from .arguments import number


def hidden(ranks: int) -> int:
    """The smallest number of hidden units, at least 512, for which the ranks divide the number of parameters."""
    return next(units for units in range(512, 1536) if (units * 256 + units + 256 * units + 256) % ranks == 0)


def checked(step: int, lr: float, beta1: float, beta2: float, eps: float, device: torch.device) -> torch.Tensor:
    """The number of the step as a tensor. The other numbers must equal the specs' numbers."""
    assert (lr, beta1, beta2, eps) == (1e-3, 0.9, 0.999, 1e-8)
    return number(step, torch.int32, device)


@solves("40_ddp")
def ddp_step(program, X_local, y_local, *others):
    """A step of Adam on all ranks: the weights, and both moments of each."""
    *state, lr, beta1, beta2, eps, step = others
    own = state if dist.get_rank() == 0 else [None] * len(state)
    return program(X_local, y_local, *own, checked(step, lr, beta1, beta2, eps, X_local.device))


@solves("41_zero1_optimizer_shard", lambda ranks: {"D": ranks, "H": hidden(ranks)})
def zero1_step(program, X_local, y_local, *others):
    """A step in which each rank updates a part of the weights, and has the moments of that part."""
    *state, lr, beta1, beta2, eps, step = others
    return program(X_local, y_local, *state, checked(step, lr, beta1, beta2, eps, X_local.device))


@solves("42_zero2_optimizer_shard_grad", lambda ranks: {"D": ranks, "H": hidden(ranks)})
def zero2_step(program, X_local, y_local, *others):
    """As zero1_step; in addition, each rank has only its part of the sum of the gradients."""
    *state, lr, beta1, beta2, eps, step = others
    return program(X_local, y_local, *state, checked(step, lr, beta1, beta2, eps, X_local.device))


@solves("43_fused_adam_grad_unshard_allgather")
def adam_allgather(program, grad_shard, master_shard, exp_avg, exp_avg_sq, lr, beta1, beta2, eps, step):
    """All weights after each rank has updated its part."""
    return program(grad_shard, master_shard, exp_avg, exp_avg_sq, checked(step, lr, beta1, beta2, eps, grad_shard.device))


@solves("44_quantized_grad_allreduce")
def quantized_allreduce(program, flat_grad, block_size):
    """The mean of the ranks' gradients, each rounded to 8 bits."""
    assert block_size == 128
    return program(flat_grad.view(-1, block_size)).view(flat_grad.shape)


@solves("45_reducescatter_fused_rmsnorm", lambda ranks: {"D": ranks, "M": 1024 // max(ranks, 4)})
def reducescatter_rms_norm(program, rs_input_1d, gamma, eps):
    """The RMS norm of each rank's rows of the mean of the ranks' tensors."""
    assert eps == 1e-5  # the value in the spec
    return program(rs_input_1d.view(dist.get_world_size(), -1, gamma.numel()), gamma)
