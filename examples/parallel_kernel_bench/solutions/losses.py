"""Problems 9 and 18 to 25: norms, quantization, and losses."""

import torch

from . import solves
from .arguments import number


@solves("9_layernorm_backward")
def layer_norm_backward(program, X_hat, dY):
    """The gradients of gamma and beta: sums over rows, which are split over the ranks."""
    return program(X_hat, dY)[:2]


@solves("18_tp_rms_norm")
def tp_rms_norm(program, local_hidden_states, local_weight, variance_epsilon):
    """The RMS norm of rows, whose columns are split over the ranks."""
    assert variance_epsilon == 1e-5  # the value in the spec
    return program(local_hidden_states, local_weight)


@solves("19_blocked_fp8_quantize")
def blocked_fp8_quantize(program, local_tensor, block_size):
    """The rows of all ranks in 8 bits, and a scale for each block of columns."""
    assert block_size == 128
    return program(local_tensor)


@solves("20_blocked_fp8_dequantize")
def blocked_fp8_dequantize(program, local_y, local_s, block_size):
    """The tensors of all ranks, each block of 8-bit numbers times its scale."""
    return program(local_y.view(*local_s.shape, block_size), local_s).view(local_y.shape)


@solves("21_clip_grad_norm_no_ep")
def clip_grad_norm(program, grad_tensors, max_norm, norm_type, group):
    """Scales the gradients of all ranks in place, so that their norm is at most max_norm. Returns the norm before scaling."""
    assert norm_type == 2.0
    norm, *clipped = program(*grad_tensors, number(max_norm, torch.float32, grad_tensors[0].device))
    for old, new in zip(grad_tensors, clipped, strict=True):
        old.copy_(new)
    return norm


@solves("22_clip_grad_norm_ep", lambda ranks: {"D": ranks, "E": max(1, ranks // 2)})
def clip_grad_norm_ep(program, non_ep, ep, max_norm, norm_type, ep_size, group, ep_fsdp_group, ep_group):
    """Clips as clip_grad_norm. Gradients of experts (ep) are divided by E, the number of ranks that share the experts; other gradients
    (non_ep) are not."""
    assert norm_type == 2.0
    norm, *clipped = program(*non_ep, *ep, number(max_norm, torch.float32, non_ep[0].device))
    for old, new in zip((*non_ep, *ep), clipped, strict=True):
        old.copy_(new)
    return norm


@solves("23_grad_acc_loss")
def grad_acc_loss(program, loss, local_valid_tokens, global_valid_tokens, grad_normalized_loss, grad_loss_sum):
    """The mean and the sum of the loss over all valid tokens, and the gradient of a rank's loss."""
    mean, total, gradient = program(loss, local_valid_tokens, global_valid_tokens, grad_normalized_loss, grad_loss_sum)
    return mean, total.view(()), gradient


@solves("24_load_balancing_loss_fn")
def load_balancing_loss(program, gate_logits, num_experts, top_k, attention_mask):
    """The sum over experts of an expert's share of tokens times its mean probability, multiplied by the number of experts; then the mean
    over ranks."""
    assert attention_mask is None and top_k == 2
    return program(gate_logits)


@solves("25_importance_sampling_loss")
def importance_sampling_loss(program, hidden_states, weight, labels, old_logprobs, advantages, ignore_index):
    """The loss of a policy gradient, the logarithms of probabilities and the loss of each token, and metrics of the ratios of
    probabilities."""
    ignored = number(ignore_index, torch.int64, labels.device)
    loss, logprobs, per_token, metrics = program(hidden_states, weight, labels, old_logprobs, advantages, ignored)
    return loss.view(()), None, logprobs, per_token, metrics
