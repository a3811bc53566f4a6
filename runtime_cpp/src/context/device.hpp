// Which GPU a rank uses, and what it is.
#pragma once

#include <string>

#include "hirgen/context.hpp"

namespace hirgen {

/// The device ordinal of this rank: options.device, or the only visible device, or the
/// local rank's. Throws Error(kEnvironment) if there is none such.
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
