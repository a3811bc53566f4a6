"""Problems 17 and 36 to 39: sequences that are split over ranks."""

import torch.distributed as dist

from . import solves


@solves("17_rope_allgather")
def rope_allgather(program, q_local, k_local, cos_local, sin_local):
    """Queries and keys of all rows, rotated, on every rank."""
    rotated = program(q_local, k_local, cos_local.unsqueeze(2), sin_local.unsqueeze(2))
    return tuple(rows.flatten(1, 2) for rows in rotated)


@solves("36_ulysses_gather_seq_scatter_heads")
def gather_rows_scatter_heads(program, x, seq_dim, head_dim, group, unpadded_dim_size):
    """From some rows of all heads to all rows of some heads."""
    assert (seq_dim, head_dim, unpadded_dim_size) == (1, 2, 0)
    batches, rows, heads, size = x.shape
    ranks = dist.get_world_size()
    return program(x.view(batches, rows, ranks, heads // ranks, size)).view(batches, ranks * rows, heads // ranks, size)


@solves("37_ulysses_gather_heads_scatter_seq")
def gather_heads_scatter_rows(program, x, seq_dim, head_dim, group):
    """From all rows of some heads to some rows of all heads."""
    assert (seq_dim, head_dim) == (1, 2)
    batches, rows, heads, size = x.shape
    ranks = dist.get_world_size()
    return program(x.view(batches, ranks, rows // ranks, heads, size)).view(batches, rows // ranks, ranks * heads, size)


@solves("38_ulysses_gather_seq_scatter_heads_qkv")
def gather_rows_scatter_heads_qkv(program, qkv, seq_dim, group, unpadded_dim_size, restore_shape):
    """From queries, keys and values of some rows and all heads to all rows of some heads."""
    assert seq_dim == 1 and restore_shape and not unpadded_dim_size
    batches, rows, columns = qkv.shape
    ranks = dist.get_world_size()
    return program(qkv.view(batches, rows, 3, ranks, columns // (3 * ranks))).view(batches, ranks * rows, columns // ranks)


@solves("39_ulysses_attention_e2e")
def ulysses_attention(program, hidden_states, w_qkv, w_o, group, num_heads, causal):
    """A layer of attention. Rows are split over the ranks before and after the attention, heads within it."""
    assert not causal
    return program(hidden_states.view(-1, hidden_states.shape[2]), w_qkv, w_o).view(hidden_states.shape)
