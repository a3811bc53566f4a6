"""Problems of attention, and of linear attention, whose rows are split over the ranks."""

import torch.distributed as dist

from . import solves


@solves("54_ring_attention")
def ring_attention(program, q, k, v, _scale, _causal, _group):
    """A causal attention: each rank has some of the rows."""
    return program(q, k, v)


def _pairs(ranks: int, first: str, second: str) -> dict[str, int]:
    """The extents of two mesh axes: at most 2 along the first, and the number of ranks divided by it along the second."""
    return {first: min(2, ranks), second: ranks // min(2, ranks)}


@solves("55_ring_attention_tp", lambda ranks: _pairs(ranks, "T", "G"))
def ring_attention_tp(program, hidden, qkv, out, *_numbers_and_groups):
    """A layer of causal attention: heads are split over one mesh axis, rows over the other."""
    return program(hidden.view(1, -1, hidden.shape[-1]), qkv, out).view(hidden.shape)


@solves("56_ring_attention_pp", lambda ranks: {"G": ranks // 2})
def ring_attention_pp(program, hidden, qkv, out, *_numbers_and_groups):
    """Two layers of causal attention, one after the other on two groups of ranks, which return a layer's result each."""
    if dist.get_rank() < dist.get_world_size() // 2:
        return program(hidden.view(-1, hidden.shape[-1]), qkv, out, None, None)[0].view(hidden.shape)
    return program(None, None, None, qkv, out)[1].view(hidden.shape)


@solves("57_ring_attention_backward_dp", lambda ranks: _pairs(ranks, "A", "G"))
def ring_attention_backward(program, dout, q, k, v, out, lse, *_numbers_and_groups):
    """The gradients of an attention whose rows are split over one mesh axis: their means over the other."""
    return tuple(gradient.view(q.shape) for gradient in program(dout, q, k, v, out, lse))


def _token_ranks(ranks: int) -> dict[str, int]:
    """The numbers of ranks that split the tokens (C) and whose results are added (T), as the benchmark chooses them."""
    other = 2 if ranks >= 4 and ranks % 2 == 0 else 1
    return {"C": ranks // other, "T": other}


@solves("74_fla_kimi_delta_attention_cp_tp", _token_ranks)
def kimi_delta(program, q, k, v, g, beta, a_log, dt_bias, group, _other_group):
    """A delta rule with a decay for each element of a key; ranks exchange heads for tokens."""
    ranks = dist.get_world_size(group)
    split = (tensor.view(tensor.shape[1], ranks, -1, *tensor.shape[3:]) for tensor in (q, k, v, g, beta))
    return program(*split, a_log, dt_bias).view(v.shape)


@solves("75_fla_gated_deltanet_cp", lambda ranks: {"D": ranks, "H": -(-6 // ranks) * ranks})
def gated_deltanet(program, q, k, v, gate, beta, a_log, dt_bias, _group):
    """A gated delta rule; ranks exchange heads for tokens."""
    batch, tokens, _, size = v.shape
    split = (tensor.view(tokens, dist.get_world_size(), -1, *tensor.shape[3:]) for tensor in (q, k, v, gate, beta))
    return program(*split, a_log, dt_bias).view(batch, tokens, -1, size)


def _chunks(ranks: int) -> dict[str, int]:
    """The tokens of a chunk (N), of a rank in each chunk (S), and the heads (H), as the benchmark chooses them."""
    tokens, heads = (12150, 24) if ranks <= 4 else (21600, 48)
    return {"D": ranks, "N": tokens, "S": -(-tokens // ranks), "H": heads}


@solves("77_magi1_cso_async_attention", _chunks)
def magi_attention(program, query, key_value, _ranges, chunks, _tokens, _group):
    """Attention in chunks of a sequence; ranks exchange heads for tokens."""
    split = (tensor.view(chunks, -1, dist.get_world_size(), tensor.shape[1] // dist.get_world_size(), tensor.shape[2])
             for tensor in (query, key_value))
    return program(*split).view(query.shape)
