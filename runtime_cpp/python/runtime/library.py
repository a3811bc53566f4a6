"""Calls the C ABI of an emitted library (hirgen/c_api.h, <name>.h) and functions of the CUDA runtime through ctypes."""

import ctypes
import os
from ctypes import POINTER, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint32, c_void_p
from pathlib import Path

from .errors import HirgenError

_ABI_VERSION = 3
_MAX_AXES = 8
_RETURNS = 1  # HIRGEN_FAILURE_RETURNS
_Failed = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p)


class _Options(ctypes.Structure):
    _fields_ = [
        ("version", c_uint32),
        ("rank", c_int32),
        ("world", c_int32),
        ("device", c_int32),
        ("port", c_int32),
        ("address", c_char_p),
        ("timeout_seconds", c_double),
        ("plans", c_char_p),
        ("on_failure", c_int32),
        ("failed", _Failed),
        ("failed_data", c_void_p),
    ]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("dtype", c_int32),
        ("output", c_int32),
        ("axes", c_int32),
        ("extent", c_int64 * _MAX_AXES),
        ("local_extent", c_int64 * _MAX_AXES),
        ("local_bytes", c_size_t),
    ]


class Library:
    """The loaded library of a program. Methods raise HirgenError if the called function fails."""

    def __init__(self, program: str, folder: Path, on_cpu: bool):
        self.program = program
        found = sorted(folder.glob(f"libhirgen_{program}.so*"))
        if not found:
            raise HirgenError(program, 3, f"there is no libhirgen_{program}.so in {folder}: install the folder by pip")
        self.on_cpu = on_cpu
        # PyTorch makes the symbols of the CUDA runtime global. With RTLD_DEEPBIND, a library for the CPU device finds that
        # device's symbols first.
        mode = os.RTLD_LOCAL | (os.RTLD_DEEPBIND if self.on_cpu else 0)
        # ctypes also finds symbols of the libraries that this library links, such as the functions of the CUDA runtime.
        self._c = ctypes.CDLL(str(found[0]), mode=mode)
        self._last_error = self._function("last_error", c_char_p, c_void_p)
        version = self._function("abi_version", c_int)()
        if version != _ABI_VERSION:
            raise HirgenError(program, 3, f"the library has version {version} of the C ABI, this package {_ABI_VERSION}")
        self._create = self._function("create", c_int, POINTER(_Options), POINTER(c_void_p))
        self._run = self._function("run", c_int, c_void_p, c_void_p, POINTER(c_void_p))
        self._status = self._function("status", c_int, c_void_p)
        self._tensor = self._function("tensor", c_int, c_void_p, c_size_t, POINTER(_Tensor))
        self._transport = self._function("transport", c_char_p, c_void_p)
        self._destroy = self._function("destroy", c_int, c_void_p)
        self._malloc = self._cuda("cudaMalloc", POINTER(c_void_p), c_size_t)
        self._free = self._cuda("cudaFree", c_void_p)
        self._set_device = self._cuda("cudaSetDevice", c_int)
        self._synchronize = self._cuda("cudaStreamSynchronize", c_void_p)

    def create(self, rank, world, device, address, port, timeout, plans) -> c_void_p:
        options = _Options(
            version=_ABI_VERSION,
            rank=rank,
            world=world,
            device=device,
            port=port,
            address=address.encode(),
            timeout_seconds=timeout,
            plans=None if plans is None else str(plans).encode(),
            on_failure=_RETURNS,
        )
        handle = c_void_p()
        self._require(self._create(options, handle), None)
        return handle

    def run(self, handle: c_void_p, stream: int, pointers: list[int]) -> None:
        self._require(self._run(handle, stream, (c_void_p * len(pointers))(*pointers)), handle)

    def status(self, handle: c_void_p) -> None:
        self._require(self._status(handle), handle)

    def bytes_of(self, handle: c_void_p, index: int) -> tuple[str, int]:
        """Returns the name of the tensor at `index`, and the size in bytes of the buffer that run expects for it."""
        tensor = _Tensor()
        self._require(self._tensor(handle, index, tensor), handle)
        return tensor.name.decode(), tensor.local_bytes

    def transport(self, handle: c_void_p) -> str:
        return self._transport(handle).decode()

    def destroy(self, handle: c_void_p) -> None:
        self._require(self._destroy(handle), None)

    def malloc(self, device: int, size: int) -> int:
        pointer = c_void_p()
        self._cuda_require(self._set_device(device), "cudaSetDevice")
        self._cuda_require(self._malloc(pointer, size), "cudaMalloc")
        return pointer.value or 0

    def free(self, pointer: int) -> None:
        self._cuda_require(self._free(pointer), "cudaFree")

    def wait(self, stream: int) -> None:
        """Blocks until all work on the stream is complete."""
        self._cuda_require(self._synchronize(stream), "cudaStreamSynchronize")

    def _function(self, name, result, *arguments):
        function = getattr(self._c, f"hirgen_{self.program}_{name}")
        function.restype, function.argtypes = result, arguments
        return function

    def _cuda(self, name, *arguments):
        function = getattr(self._c, name)
        function.restype, function.argtypes = c_int, arguments
        return function

    def _require(self, code: int, handle: c_void_p | None) -> None:
        if code != 0:
            raise HirgenError(self.program, code, self._last_error(handle).decode(errors="replace"))

    def _cuda_require(self, status: int, call: str) -> None:
        if status != 0:
            raise HirgenError(self.program, 4, f"{call} failed with CUDA error {status}")
