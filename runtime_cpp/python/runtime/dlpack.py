"""Tensors over memory that PyTorch did not allocate, through DLPack."""

import ctypes
from ctypes import c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p

import torch

_CPU, _CUDA = 1, 2  # DLDeviceType
_INT, _UINT, _FLOAT, _BFLOAT = 0, 1, 2, 4  # DLDataTypeCode
_CAPSULE = b"dltensor"  # capsules do not copy their name, so it must outlive them


class _ManagedTensor(ctypes.Structure):
    """DLPack's DLManagedTensor. `deleter` stays null, so PyTorch does not free the memory."""

    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", ctypes.POINTER(c_int64)),
        ("strides", ctypes.POINTER(c_int64)),
        ("byte_offset", c_uint64),
        ("manager", c_void_p),
        ("deleter", c_void_p),
    ]


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [c_void_p, c_char_p, c_void_p]
_described: list[_ManagedTensor] = []  # never removed, because tensors refer to them


def _code(dtype: torch.dtype) -> int:
    """Returns DLPack's type code of an element type. Signed integers and floating-point types have one code for all sizes."""
    if dtype == torch.bfloat16:
        return _BFLOAT
    if dtype == torch.uint8:
        return _UINT
    return _FLOAT if dtype.is_floating_point else _INT


def tensor_over(pointer: int, shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Returns a contiguous tensor whose elements are at address `pointer` of `device`. The memory must outlive the tensor."""
    if dtype.is_floating_point and dtype.itemsize == 1:  # PyTorch may not know DLPack's codes of fp8 types
        return tensor_over(pointer, shape, torch.uint8, device).view(dtype)
    managed = _ManagedTensor(
        data=pointer,
        device_type=_CPU if device.type == "cpu" else _CUDA,
        device_id=device.index or 0,
        ndim=len(shape),
        code=_code(dtype),
        bits=8 * dtype.itemsize,
        lanes=1,
        shape=(c_int64 * len(shape))(*shape),
    )
    _described.append(managed)
    return torch.utils.dlpack.from_dlpack(_new_capsule(ctypes.addressof(managed), _CAPSULE, None))
