"""What a program is to PyTorch: its tensors as one rank has them, and the files of its library."""

import functools
from dataclasses import dataclass
from pathlib import Path

import torch


@dataclass(frozen=True)
class Split:
    """An axis that is split over ranks: this rank has part number `rank // stride % parts` of it."""

    axis: int
    parts: int
    stride: int

    def part(self, rank: int) -> int:
        return rank // self.stride % self.parts


@dataclass(frozen=True)
class Tensor:
    """An input or output. `shape` is this rank's part, without the axes DIDx, DIDy and DIDz, which are 1 there."""

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    splits: tuple[Split, ...] = ()
    weight: bool = False  # a parameter of linear, rms_norm or layer_norm
    shared: bool = False  # other ranks reach into its memory by CUDA IPC

    @property
    def bytes(self) -> int:
        return torch.Size(self.shape).numel() * self.dtype.itemsize

    @property
    def whole(self) -> tuple[int, ...]:
        """The shape over all ranks."""
        shape = list(self.shape)
        for split in self.splits:
            shape[split.axis] *= split.parts
        return tuple(shape)

    def check(self, given: torch.Tensor, program: str) -> None:
        """Raises TypeError or ValueError, with the name of the argument, for what the program cannot take."""
        if not isinstance(given, torch.Tensor):
            raise TypeError(f"{program}: {self.name} must be a tensor, not {type(given).__name__}")
        if given.dtype == self.dtype and given.shape == self.shape and given.is_contiguous():
            return  # each call comes here
        what = f"{program}: {self.name}"
        if given.dtype != self.dtype:
            raise TypeError(f"{what} must be {self.dtype}, not {given.dtype}")
        if given.shape != self.shape:
            raise ValueError(f"{what} must have the shape {list(self.shape)} on each rank, not {list(given.shape)}")
        if not given.is_contiguous():
            raise ValueError(f"{what} must be contiguous, and has the strides {given.stride()}: pass {self.name}.contiguous()")


@dataclass(frozen=True)
class Program:
    """One emitted program. The digest is that of its calls: two programs with one digest do the same."""

    name: str
    digest: str
    ranks: int
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    folder: Path  # of the library

    @functools.cached_property
    def tensors(self) -> tuple[Tensor, ...]:
        """As the C ABI counts them."""
        return self.inputs + self.outputs

    def check(self, inputs: tuple[torch.Tensor, ...]) -> torch.device:
        """Checks the inputs of a call and returns the device that all of them are on."""
        for tensor, given in zip(self.inputs, inputs, strict=True):
            tensor.check(given, self.name)
            if given.device != inputs[0].device:
                raise ValueError(
                    f"{self.name}: {tensor.name} is on {given.device} and {self.inputs[0].name} on {inputs[0].device}"
                )
        return inputs[0].device
