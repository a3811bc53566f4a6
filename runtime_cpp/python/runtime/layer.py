"""A program as a PyTorch module. The module's parameters are this rank's parts of the weights."""

from collections.abc import Mapping

import torch
import torch.distributed as dist

from .operator import Operator
from .program import Tensor
from .weights import Source, part_of, settings_of


class Layer(torch.nn.Module):
    """Has the weights of an operator, and calls the operator with them. Weights of `linear` have the layout of nn.Linear, [out, in].

    Weights may be split over ranks. state_dict() has this rank's parts. whole_state_dict() and load_whole_state_dict() are
    for checkpoints without tensor parallelism. Their argument `names` maps weights to keys of the checkpoint:
    {"Wg": "mlp.gate_proj.weight"}. By default, the keys are the names of the weights.
    """

    operator: Operator

    def __init__(self, device: torch.device | str | None = None, group: dist.ProcessGroup | None = None):
        super().__init__()
        self.group = group
        for tensor in self._weights():
            self.register_parameter(tensor.name, torch.nn.Parameter(torch.empty(tensor.shape, dtype=tensor.dtype, device=device)))

    def forward(self, *activations: torch.Tensor):
        """Calls the operator. `activations` are its inputs other than weights, in the operator's order."""
        left = iter(activations)
        inputs = [getattr(self, t.name) if t.weight else next(left) for t in self.operator.forward.inputs]
        return self.operator(*inputs, group=self.group)

    @torch.no_grad()
    def load_whole_state_dict(self, state: Mapping[str, torch.Tensor], names: Mapping[str, Source] | None = None) -> None:
        """Copies this rank's part of each whole weight into the parameters, and converts element types. Values of `names` may
        also be objects of --load-map, {"Wqkv": {"pack": ["q.weight", "k.weight", "v.weight"]}}. `names` may also be a whole
        map, as the file of --load-map contains it."""
        sources, prefix = settings_of(names)
        for tensor in self._weights():
            source = sources.get(tensor.name, tensor.name)
            getattr(self, tensor.name).copy_(part_of(state, tensor, source, prefix, self._rank()))

    @torch.no_grad()
    def whole_state_dict(self, names: Mapping[str, str] | None = None) -> dict[str, torch.Tensor]:
        """Gathers the whole weights on every rank, and returns them by key. Collective over the group."""
        return {(names or {}).get(t.name, t.name): self._whole(t, getattr(self, t.name).detach()) for t in self._weights()}

    @property
    def activations(self) -> tuple[Tensor, ...]:
        """The inputs of forward(), with names, shapes and element types."""
        return tuple(tensor for tensor in self.operator.forward.inputs if not tensor.weight)

    def _weights(self):
        return [tensor for tensor in self.operator.forward.inputs if tensor.weight]

    def _rank(self) -> int:
        return dist.get_rank(self.group) if self.operator.forward.ranks > 1 else 0

    def _whole(self, tensor, part: torch.Tensor) -> torch.Tensor:
        if not tensor.splits:
            return part.clone()
        parts = [torch.empty_like(part) for _ in range(self.operator.forward.ranks)]
        dist.all_gather(parts, part, group=self.group)
        whole = part.new_empty(tensor.whole)
        for rank, given in enumerate(parts):
            place = whole
            for split in tensor.splits:
                size = tensor.shape[split.axis]
                place = place.narrow(split.axis, split.part(rank) * size, size)
            place.copy_(given)
        return whole
