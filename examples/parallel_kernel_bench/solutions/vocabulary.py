"""Problems of a vocabulary that is split over the ranks."""

import torch.distributed as dist

from . import solves


@solves("73_vocab_parallel_cross_entropy_loss")
def vocab_parallel_loss(program, logits, target, _group):
    """The cross entropy of each token."""
    return program(logits.view(-1, logits.shape[-1]), target.view(-1)).view(target.shape)


def _tokens(ranks: int) -> dict[str, int]:
    """Two sequences, each of at least eight tokens and of a multiple of the number of ranks."""
    return {"D": ranks, "M": 2 * -(-max(8, ranks) // ranks) * ranks}


def _chunks(program, logits, *tokens):
    """The program's result for rows of logits, of which each of D chunks has M/D, and for the tensors with a number for each token."""
    chunks = logits.view(dist.get_world_size(), -1, logits.shape[-1])
    return program(chunks, *(numbers.view(-1) for numbers in tokens))


@solves("82_vocab_parallel_log_prob_topk", _tokens)
def topk_log_prob(program, logits, target, _group, _k, _p):
    """The logarithm of each target's probability among the likely tokens."""
    return _chunks(program, logits, target).view(target.shape)


@solves("83_vocab_parallel_log_prob_topk_chunked", _tokens)
def topk_log_prob_chunked(program, logits, target, _group, _k, _p, _chunk):
    """As topk_log_prob. The program computes all tokens as one chunk."""
    return _chunks(program, logits, target).view(target.shape)


@solves("84_vocab_parallel_log_prob_topk_chunked_backward", _tokens)
def topk_log_prob_backward(program, logits, target, grad, _group, _k, _p, _chunk):
    """The gradient of the logits, given the gradient of topk_log_prob_chunked."""
    return _chunks(program, logits, target, grad).view(logits.shape)
