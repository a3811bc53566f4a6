"""Arguments in the form that programs take."""

import functools

import torch


@functools.cache
def number(value: float, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """A number as a tensor without axes. A second call with the same arguments returns the same tensor."""
    return torch.tensor(value, dtype=dtype, device=device)
