"""Handles of programs. A handle joins the other ranks of a process group, owns buffers, and issues calls."""

import atexit
import contextlib
import functools
import socket
import sys
import time
from pathlib import Path

import torch
import torch.distributed as dist

from .dlpack import tensor_over
from .errors import HirgenError
from .library import Library
from .program import Program

# HIRGEN_ALIGNMENT of c_api.h: programs accept only pointers at multiples of this number of bytes. A contiguous view of a
# tensor may begin at any element, and so at other addresses.
_ALIGNMENT = 16

_handles: dict[tuple, "Handle"] = {}


@functools.cache
def library_of(program: Program) -> Library:
    return Library(program.name, program.folder, program.on_cpu)


def handle_of(program: Program, group_name: str, device: torch.device) -> "Handle":
    """Returns the handle of a program in a process group on a device. If there is none, makes it, which is collective."""
    key = (program.name, program.digest, group_name, device)
    if key not in _handles:
        _outside_captures(program, device)
        _handles[key] = Handle(program, group_name, device)
    return _handles[key]


def _outside_captures(program: Program, device: torch.device) -> None:
    """Raises HirgenError while the current stream is captured, because no memory can be allocated then."""
    if device.type == "cuda" and torch.cuda.is_current_stream_capturing():
        raise HirgenError(program.name, 2, "call the program once before a CUDA graph captures it")


def join(program: Program, group_name: str, device: torch.device, timeout: float, plans: Path | None) -> "Handle":
    """Makes the handle that handle_of returns from then on, with these options. Raises ValueError if it exists already."""
    key = (program.name, program.digest, group_name, device)
    if key in _handles:
        raise ValueError(f"{program.name} has joined this group on {device} already: close that handle first")
    _handles[key] = Handle(program, group_name, device, timeout, plans)
    return _handles[key]


def close(programs: tuple[Program, ...], group_name: str, device: torch.device) -> None:
    """Closes the handles of these programs, if there are any. Raises the first HirgenError after it has closed all of them."""
    failures = []
    for program in programs:
        handle = _handles.get((program.name, program.digest, group_name, device))
        try:
            if handle is not None:
                handle.close()
        except HirgenError as error:
            failures.append(error)
    if failures:
        raise failures[0]


class Handle:
    """A program that has joined the other ranks. All ranks must make the same calls in the same order.

    Users get handles from `join` of the package.
    """

    def __init__(
        self,
        program: Program,
        group_name: str,
        device: torch.device,
        timeout: float = 60.0,
        plans: Path | None = None,
    ):
        self.program, self.device, self._group_name = program, device, group_name
        self._library = library_of(program)
        if self._library.on_cpu != (device.type == "cpu"):
            built = "the CPU device" if self._library.on_cpu else "CUDA"
            raise ValueError(f"{program.name}: the tensors are on {device}, and the package was built for {built}")
        with self._on_device():
            rank, world, ordinal, address, port = _meet(program, group_name, device)
            self._handle = self._library.create(rank, world, ordinal, address, port, timeout, plans)
        self._rank, self._ordinal = rank, ordinal
        # run() makes outputs like these tensors, which is faster than from shape, type and device. Each of these has the
        # memory of only one element.
        self._outputs = [torch.empty((), dtype=t.dtype, device=device).expand(t.shape_on(rank)) for t in program.outputs]
        self._inputs_of_some = [(i, t) for i, t in enumerate(program.inputs) if t.ranks]
        self._buffers: dict[str, torch.Tensor] = {}
        self._copied: dict[str, int] = {}
        for index, tensor in enumerate(program.tensors):
            name, size = self._library.bytes_of(self._handle, index)
            expected = torch.Size(tensor.shape_on(rank)).numel() * tensor.dtype.itemsize
            if (name, size) != (tensor.name, expected):
                raise HirgenError(program.name, 7, f"{tensor.name} has {expected} bytes here and {size} in the library")

    @property
    def transport(self) -> str:
        """The transport of transfers between ranks, such as "nccl" or "ipc-get"."""
        return self._library.transport(self._open())

    def empty(self, name: str) -> torch.Tensor:
        """Returns the handle's own buffer of an input, as a tensor. A call with this tensor does not copy the input.

        Returns the same memory each time. close() frees the memory, unless it raises HirgenError. Raises ValueError if the
        program has no such input on this rank.
        """
        for tensor in self.program.inputs:
            if tensor.name == name and tensor.shape_on(self._rank) == tensor.shape:
                return self._buffer(tensor)
        raise ValueError(f"{self.program.name} has no input {name} on this rank: it has {', '.join(t.name for t in self.program.inputs)}")

    def run(self, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        """Issues a call on the current stream, or captures it. On a GPU, does not wait for the results; on the CPU device, the
        results are complete when it returns."""
        handle = self._open()
        for i, tensor in self._inputs_of_some:
            if inputs[i].shape != tensor.shape_on(self._rank):
                raise ValueError(f"{self.program.name}: {tensor.name} is on ranks {tensor.ranks}: pass None on the others")
        on_cpu = self._library.on_cpu
        stream = 0 if on_cpu else torch._C._cuda_getCurrentRawStream(self.device.index)
        outputs = tuple([torch.empty_like(like, memory_format=torch.contiguous_format) for like in self._outputs])
        pointers = [given.data_ptr() for given in inputs + outputs]
        copied, results = [], []
        for i, tensor in enumerate(self.program.tensors):
            if self._is_direct(tensor, pointers[i]):
                continue
            place = self._buffer(tensor)
            if place.data_ptr() == pointers[i]:
                continue
            pointers[i] = place.data_ptr()
            copied.append(tensor)
            if i < len(inputs):
                place.copy_(inputs[i])
            else:
                results.append((outputs[i - len(inputs)], place))
        self._library.run(handle, stream, pointers)
        if on_cpu:
            self._library.wait(stream)
            self._library.status(handle)
        for output, place in results:
            output.copy_(place)
        if copied:
            self._note(copied)
        return outputs

    def check(self) -> None:
        """Waits for the work on the current stream, and raises HirgenError if this or another rank has failed."""
        if self.device.type == "cuda":
            torch.cuda.current_stream(self.device).synchronize()
        self._library.status(self._open())

    def copies(self) -> dict[str, tuple[int, float]]:
        """Returns, by name, the tensors that calls have copied to or from the handle's buffers: size in bytes and microseconds.

        Measures the time of one copy of each tensor during this call.
        """
        return {name: (size, self._copy_time(self._buffers[name])) for name, size in self._copied.items()}

    def close(self) -> None:
        """Leaves the other ranks, which must all close their handles, too. Frees the buffers, including those of `empty`.

        After a failure, raises HirgenError and frees no buffers.
        """
        handle = self._open()
        self._handle = None
        _handles.pop((self.program.name, self.program.digest, self._group_name, self.device), None)
        self._library.destroy(handle)
        # After a failure, destroy raises and the buffers stay allocated: a live rank may still read shared ones.
        for buffer in self._buffers.values():
            self._library.free(buffer.data_ptr())
        self._buffers.clear()

    def _on_device(self):
        """Returns a context manager that makes this handle's device current, because NCCL's process groups use that device.

        At its end, the manager restores the previous device, even after a cudaSetDevice. On the CPU device it does nothing.
        """
        return torch.cuda.device(self.device) if self.device.type == "cuda" else contextlib.nullcontext()

    def _open(self):
        if self._handle is None:
            raise HirgenError(self.program.name, 2, "the handle was closed")
        return self._handle

    def _is_direct(self, tensor, pointer: int) -> bool:
        """Returns whether the program can use the caller's memory of a tensor at `pointer`, or there is no memory (0). The CPU
        device cannot use PyTorch's memory. Shared tensors need the handle's buffers: an IPC handle of PyTorch's memory exports
        the whole segment from which its allocator cut the tensor, and expandable segments have no IPC handle."""
        return pointer == 0 or not (self._library.on_cpu or tensor.shared or pointer % _ALIGNMENT)

    def _buffer(self, tensor) -> torch.Tensor:
        if tensor.name not in self._buffers:
            _outside_captures(self.program, self.device)
            with self._on_device():
                pointer = self._library.malloc(self._ordinal, tensor.bytes)
            self._buffers[tensor.name] = tensor_over(pointer, tensor.shape, tensor.dtype, self.device)
        return self._buffers[tensor.name]

    def _note(self, copied: list) -> None:
        """Remembers the tensors that a call copied, for copies(). In the first call that copies, rank 0 prints them."""
        if not self._copied and self._rank == 0:
            listed = ", ".join(f"{tensor.name} {tensor.bytes / 1e6:.3g} MB" for tensor in copied)
            print(f"{self.program.name}: each call copies {listed}; empty(NAME) of the handle spares an input", file=sys.stderr)
        for tensor in copied:
            if tensor.name not in self._copied:
                self._copied[tensor.name] = tensor.bytes

    def _copy_time(self, buffer: torch.Tensor) -> float:
        other, repeats = torch.empty_like(buffer), 10
        other.copy_(buffer)
        self._wait()
        start = time.perf_counter()
        for _ in range(repeats):
            other.copy_(buffer)
        self._wait()
        return (time.perf_counter() - start) / repeats * 1e6

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)


def _meet(program: Program, group_name: str, device: torch.device) -> tuple[int, int, int, str, int]:
    """Returns this rank, the number of ranks, the ordinal of this rank's device, and the address and the TCP port of rank 0.

    Collective over the group, if there is one. Raises ValueError if the number of ranks is not the program's.
    """
    if not group_name:
        if program.ranks != 1:
            raise ValueError(f"{program.name} is for {program.ranks} ranks: call torch.distributed.init_process_group first")
        return 0, 1, device.index or 0, "127.0.0.1", 0
    group = dist.distributed_c10d._resolve_process_group(group_name)
    rank, world = dist.get_rank(group), dist.get_world_size(group)
    if world != program.ranks:
        raise ValueError(f"{program.name} is for {program.ranks} ranks, and the process group has {world}")
    offers: list[tuple[str, int]] = [("", 0)] * world
    dist.all_gather_object(offers, (socket.gethostname(), _free_port()), group=group)
    hosts = [host for host, _ in offers]
    address = "127.0.0.1" if len(set(hosts)) == 1 else hosts[0]
    # On the CPU device, each rank of a node has a separate device.
    ordinal = device.index if device.type == "cuda" else hosts[:rank].count(hosts[rank])
    return rank, world, ordinal, address, offers[0][1]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


@atexit.register
def _close_all() -> None:
    """Closes all handles when the process exits. Otherwise, the other ranks would report that this rank died."""
    for handle in list(_handles.values()):
        try:
            handle.close()
        except HirgenError as error:
            print(error, file=sys.stderr)
