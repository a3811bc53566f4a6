"""Problems 10, 26, 28, 29, 31 and 32: rows that other ranks have, and mixtures of experts."""

import torch
import torch.distributed as dist

from . import solves


@solves("10_embedding_lookup")
def embedding_lookup(program, indices, local_shard):
    """Rows of a table, which is split over the ranks by rows."""
    return program(indices, local_shard)


@solves("26_moe_token_preprocess")
def moe_token_counts(program, expert_mask, num_experts, group):
    """Numbers of tokens: sent to each rank, received from each rank, received from each rank for each own expert, and received for each own
    expert."""
    ranks = dist.get_world_size()
    by_token = expert_mask.permute(2, 1, 0).contiguous()  # the order in memory
    sent, from_ranks, received, of_experts = program(by_token.view(-1, ranks, num_experts // ranks))
    return sent.cpu().long(), from_ranks.cpu().long(), received.cpu(), of_experts.cpu()


@solves("28_moe_pre_all2all")
def moe_dispatch(program, hidden_states, expert_mask, num_experts, input_splits, output_splits, num_global_tokens_per_local_expert, group):
    """The rows of all tokens for a rank's experts, ordered by expert, and the places of the rank's own tokens."""
    assert len(set(input_splits)) == 1  # equal sizes, as in the spec; the benchmark gives experts equal sizes, too
    rows, routing_map, token = program(hidden_states, expert_mask)
    return rows.view(-1, hidden_states.shape[1]), routing_map, token, hidden_states.shape


@solves("29_moe_post_all2all")
def moe_combine(
    program,
    expert_outputs,
    routing_weights,
    selected_experts,
    num_experts,
    input_splits,
    output_splits,
    num_global_tokens_per_local_expert,
    routing_map,
    local_input_permutation_mapping,
    org_hidden_states_shape,
    group,
):
    """For each token, the sum of its experts' results times their weights."""
    assert len(set(input_splits)) == 1  # equal sizes, as in the spec; the benchmark gives experts equal sizes, too
    ranks = dist.get_world_size()
    chunks = expert_outputs.view(num_experts // ranks, ranks, -1, expert_outputs.shape[1])
    return program(chunks, routing_weights, selected_experts).view(org_hidden_states_shape)


def parameters(*layers: torch.nn.Linear) -> list[torch.Tensor]:
    """The weights and biases of layers."""
    return [tensor.detach() for layer in layers for tensor in (layer.weight, layer.bias)]


@solves("31_fused_moe_fwd")
def fused_moe(program, hidden_states, gate_weight, gate_bias, gate_proj, up_proj, down_proj, num_experts, top_k, group):
    """A layer of experts. All experts of a rank are the same MLP."""
    return program(hidden_states, gate_weight, gate_bias, *parameters(gate_proj, up_proj, down_proj))


@solves("32_fused_moe_fwd_lora")
def fused_moe_lora(program, hidden_states, gate_weight, gate_bias, gate_proj, up_proj, down_proj, *others):
    """As fused_moe, with low-rank additions to the weights."""
    *lora, num_experts, top_k, group = others
    return program(hidden_states, gate_weight, gate_bias, *parameters(gate_proj, up_proj, down_proj), *lora)
