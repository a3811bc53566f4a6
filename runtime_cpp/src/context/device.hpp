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

}  // namespace hirgen
