"""Descriptions of programs for PyTorch: the tensors as one rank sees them, and the folder of the library."""

import functools
from dataclasses import dataclass
from pathlib import Path

import torch


@dataclass(frozen=True)
class Split:
    """How an axis of Tensor.shape is split over ranks: a rank has part number `rank // stride % parts`, counted from 0."""

    axis: int
    parts: int
    stride: int

    def part(self, rank: int) -> int:
        return rank // self.stride % self.parts


@dataclass(frozen=True)
class Tensor:
    """An input or output. `shape` is the shape of one rank's part, without the axes DIDx, DIDy and DIDz, whose local extent is
    1. It is () for a tensor that the spec declares without axes. On ranks that do not have the tensor, the shape is (0,), see
    shape_on(), and calls take and return None."""

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    splits: tuple[Split, ...] = ()
    ranks: tuple[int, ...] = ()  # the ranks that have the tensor; empty: all
    weight: bool = False  # in a forward program: a parameter of a linear layer or a norm
    shared: bool = False  # other ranks access its memory over CUDA IPC
    gradient_of: str = ""  # in a backward program: the tensor of the forward program that this is the gradient of

    @property
    def bytes(self) -> int:
        return torch.Size(self.shape).numel() * self.dtype.itemsize

    @property
    def whole(self) -> tuple[int, ...]:
        """The shape of the whole tensor, over all ranks."""
        shape = list(self.shape)
        for split in self.splits:
            shape[split.axis] *= split.parts
        return tuple(shape)

    def shape_on(self, rank: int) -> tuple[int, ...]:
        """Returns the shape on a rank: (0,) if the rank does not have the tensor."""
        return self.shape if not self.ranks or rank in self.ranks else (0,)

    def check(self, given: torch.Tensor, program: str) -> None:
        """Raises TypeError or ValueError, with the tensor's name, unless some rank of the program can take `given`."""
        if not isinstance(given, torch.Tensor):
            raise TypeError(f"{program}: {self.name} must be a tensor, not {type(given).__name__}")
        if given.dtype == self.dtype and given.shape == self.shape and given.is_contiguous():
            return  # the usual case, with few comparisons
        if self.ranks and given.shape == (0,):
            return
        what = f"{program}: {self.name}"
        if given.dtype != self.dtype:
            raise TypeError(f"{what} must be {self.dtype}, not {given.dtype}")
        if given.shape != self.shape:
            raise ValueError(f"{what} must have the shape {list(self.shape)} on each rank, not {list(given.shape)}")
        if not given.is_contiguous():
            raise ValueError(f"{what} must be contiguous, and has the strides {given.stride()}: pass {self.name}.contiguous()")


@dataclass(frozen=True)
class Program:
    """One emitted program. `digest` is a hash of its calls: programs with equal digests issue the same calls."""

    name: str
    digest: str
    ranks: int
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    folder: Path  # contains the library

    @functools.cached_property
    def tensors(self) -> tuple[Tensor, ...]:
        """All tensors in the order of the C ABI: inputs, then outputs."""
        return self.inputs + self.outputs

    @functools.cached_property
    def on_cpu(self) -> bool:
        """Whether the program was built for the CPU device. If so, that device's library is in the same folder."""
        return (self.folder / "libhirgen_cpu.so").exists()

    def check(self, inputs: tuple[torch.Tensor, ...]) -> torch.device:
        """Checks the inputs of a call and returns the device that all of them are on."""
        for tensor, given in zip(self.inputs, inputs, strict=True):
            tensor.check(given, self.name)
            if given.device != inputs[0].device:
                raise ValueError(
                    f"{self.name}: {tensor.name} is on {given.device} and {self.inputs[0].name} on {inputs[0].device}"
                )
        return inputs[0].device
