// Which GPU a rank uses, and what it is.
#pragma once

#include <string>

#include "hirgen/context.hpp"

namespace hirgen {

/// Whether ranks may share a GPU, which HIRGEN_SHARE_GPU=1 says: CUDA IPC works between processes
/// of one GPU, so that a machine with a single one can check a program; NCCL refuses it.
bool may_share_gpu();

/// The device ordinal of this rank: options.device, or the only visible device, or the
/// local rank's; where ranks may share, one after the other in turn. Throws Error(kEnvironment) if
/// there is none such.
int choose_device(const ContextOptions& options);

/// Makes `device` current; its PCI bus id. Throws Error(kEnvironment).
std::string open_device(int device);

/// "NVIDIA H200".
std::string device_name(int device);

/// How many bytes to ask the device for, where so many are needed: from 1 MB on a multiple of 64
/// KB. Of other sizes peers reach the memory at 0.56 to 0.77 of the rate of their links
/// (docs/design/allocation-sizes.md).
size_t allocation_bytes(size_t bytes);

}  // namespace hirgen
