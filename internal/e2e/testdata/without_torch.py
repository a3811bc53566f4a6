"""Calls the libraries of a PyTorch package on one rank, with plain buffers, by the modules of its runtime that need no PyTorch."""

import ctypes
import importlib
import os
import sys
import types
import unittest.mock
from pathlib import Path

runtime, folder = sys.argv[1], Path(sys.argv[2])
package = types.ModuleType("runtime")  # without its __init__, which imports torch
package.__path__ = [runtime]
sys.modules["runtime"] = package
Library = importlib.import_module("runtime.library").Library
HirgenError = importlib.import_module("runtime.errors").HirgenError

rank, world = int(os.environ["HIRGEN_RANK"]), int(os.environ["HIRGEN_WORLD"])
M, K, N = 16, 8, 14  # N columns on a rank
ONE, TWO = 0x3F80, 0x4000  # in bf16
SIZES = {"X": M * K, "gamma": K, "Wg": N * K, "Wu": N * K, "W2": K * N, "gate": M * N, "up": M * N, "Y": M * K}


def require(holds, what):
    if not holds:
        raise SystemExit(f"not so: {what}")


def call(program, names, given):
    """Runs a program on tensors of zeros, or of the value in given, and returns its tensors by name."""
    library = Library(program, folder, on_cpu=(folder / "libhirgen_cpu.so").exists())
    require(library.on_cpu, "the CPU device lies beside the library")
    handle = library.create(rank, world, rank, "127.0.0.1", int(os.environ["HIRGEN_PORT"]), 30.0, None)
    arrays, pointers = {}, []
    for index, name in enumerate(names):
        size = SIZES[name.removeprefix("d") if name.startswith("d") else name]
        require(library.bytes_of(handle, index) == (name, 2 * size), f"tensor {index} is {name} of {2 * size} bytes")
        pointers.append(library.malloc(rank, 2 * size))
        arrays[name] = (ctypes.c_uint16 * size).from_address(pointers[-1])
        arrays[name][:] = [given.get(name, 0)] * size
    try:
        library.run(handle, 0, [0, *pointers[1:]])
    except HirgenError as error:
        require(error.code == 2 and names[0] in str(error), f"a null pointer is a mistake of the caller: {error}")
    else:
        require(False, "a null pointer is refused")
    try:
        library.run(handle, 0, [*pointers[:-1], pointers[-1] + 2])
    except HirgenError as error:
        message = f"the pointer of tensor {names[-1]}"
        require(error.code == 2 and message in str(error) and "is 2 bytes beyond a multiple of 16" in str(error), f"the tensor is named: {error}")
    else:
        require(False, "an unaligned pointer is refused")
    library.run(handle, 0, pointers)
    library.wait(0)
    library.status(handle)
    results = {name: list(array) for name, array in arrays.items()}
    library.destroy(handle)
    for pointer in pointers:
        library.free(pointer)
    return results


# The runtime copies tensors that are contiguous but unaligned. Mocks stand in for PyTorch.
for name in ("torch", "torch.distributed"):
    sys.modules[name] = unittest.mock.MagicMock()
Handle = importlib.import_module("runtime.handle").Handle
on_gpu, own, other = (types.SimpleNamespace(**fields) for fields in ({"_library": types.SimpleNamespace(on_cpu=False)}, {"shared": False}, {"shared": True}))
for beyond in (0, 2, 4, 8, 16, 18, 128):
    place = (1 << 40) + beyond
    require(Handle._is_direct(on_gpu, own, place) == (beyond % 16 == 0), f"a tensor {beyond} bytes beyond a multiple of 256 is as it is, or copied")
    require(not Handle._is_direct(on_gpu, other, place), "a tensor that other ranks read is copied")
require(Handle._is_direct(on_gpu, other, 0), "there is nothing to copy of a tensor that the rank does not have")

# With zero weights the layer returns its input, and the gradient of the input is the gradient of
# the output.
inputs = ["X", "gamma", "Wg", "Wu", "W2"]
forward = call("llama_mlp", [*inputs, "Y", "gate", "up"], {"X": TWO, "gamma": ONE})
require(set(forward["Y"]) == {TWO} and set(forward["up"]) == {0}, "Y is X")
backward = call("llama_mlp_backward", ["dY", *inputs, "gate", "up", *(f"d{name}" for name in inputs)], {"X": TWO, "dY": ONE})
require(set(backward["dX"]) == {ONE} and not any(backward["dWg"]), "dX is dY")
print("right, and a null pointer is an exception", flush=True)
