// Chooses a rank's GPU, and describes it.
#pragma once

#include <string>

#include "hirgen/context.hpp"

namespace hirgen {

/// Whether ranks may share a GPU (HIRGEN_SHARE_GPU=1). CUDA IPC works between processes of one GPU,
/// so a machine with a single GPU can check a program. NCCL does not allow two ranks on one GPU.
bool may_share_gpu();

/// The device ordinal of this rank: options.device if it is set, else the only visible device, else
/// the local rank. If ranks may share GPUs, the ordinal is taken modulo the number of devices.
/// Throws Error(kEnvironment) if there is no such device.
int choose_device(const ContextOptions& options);

/// Makes `device` current and returns its PCI bus id. Throws Error(kEnvironment).
std::string open_device(int device);

/// The name of a device: "NVIDIA H200".
std::string device_name(int device);

/// The number of bytes to allocate for `bytes` bytes: from 1 MiB on, a multiple of 64 KiB. Peers
/// write to memory of other sizes at a lower rate (docs/design/allocation-sizes.md).
size_t allocation_bytes(size_t bytes);

}  // namespace hirgen
