"""Cuts one rank's weights out of a state dict with whole weights, by the names and objects of --load-map."""

from collections.abc import Mapping
from itertools import accumulate
from math import prod
from operator import mul

import torch

from .program import Tensor

# A source T is the name of a tensor in a checkpoint, {"transpose": T}, {"rows": [begin, end], "of": T} or
# {"stack": [T, ...]}. The outermost source may also be {"pack": [T, ...]}: each rank takes its part of each T, and
# concatenates the parts.
Source = str | Mapping[str, object]


def settings_of(names: Mapping[str, object] | None) -> tuple[Mapping[str, Source], str]:
    """Returns the source of each weight, and the prefix of names in the checkpoint. `names` has the sources by weight, or is a
    whole map of --load-map."""
    if names is not None and "checkpoint" in names and "tensors" in names:
        return names["tensors"], names.get("prefix", "")
    return names or {}, ""


def part_of(state: Mapping[str, torch.Tensor], tensor: Tensor, source: Source, prefix: str, rank: int) -> torch.Tensor:
    """Returns one rank's part of a weight. Raises ValueError if the shapes do not fit."""
    packed = isinstance(source, Mapping) and "pack" in source
    given = [_tensor(state, one, prefix) for one in (source["pack"] if packed else [source])]
    axis = next((i for i, extent in enumerate(tensor.shape) if extent > 1), 0)
    parts = []
    for one in given:
        whole = list(tensor.whole)
        if packed:
            whole[axis] = one.numel() * whole[axis] // prod(whole)
        part = _fitted(one, tuple(whole), source if isinstance(source, str) else tensor.name)
        for split in tensor.splits:
            size = part.shape[split.axis] // split.parts
            part = part.narrow(split.axis, split.part(rank) * size, size)
        parts.append(part)
    part = torch.cat(parts, axis) if packed else parts[0]
    if tuple(part.shape) != tensor.shape:
        raise ValueError(f"the packed tensors for {tensor.name} make up {list(part.shape)}, not {list(tensor.shape)}, on a rank")
    return part


def _tensor(state: Mapping[str, torch.Tensor], source: Source, prefix: str) -> torch.Tensor:
    match source:
        case str():
            return state[prefix + source]
        case {"transpose": inner}:
            return _tensor(state, inner, prefix).t()
        case {"rows": [begin, end], "of": inner}:
            return _tensor(state, inner, prefix)[begin:end]
        case {"stack": [*inner]}:
            return torch.stack([_tensor(state, one, prefix) for one in inner])
    raise ValueError(f"{source}: write a tensor's name, or an object with pack, stack, transpose, or rows and of")


def _fitted(given: torch.Tensor, shape: tuple[int, ...], what: str) -> torch.Tensor:
    """Reshapes a tensor if that only merges or only splits adjacent axes. Otherwise raises ValueError with `what` as the name."""
    has, needs = set(accumulate(given.shape, mul)), set(accumulate(shape, mul))
    if given.numel() != prod(shape) or not (has - {1} <= needs or needs - {1} <= has):
        raise ValueError(f"{what} must have the shape {list(shape)}, not {list(given.shape)}")
    return given.reshape(shape)
