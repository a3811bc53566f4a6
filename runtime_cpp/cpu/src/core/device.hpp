// The virtual devices of a process.
#pragma once

namespace hirgen_cpu {

/// HIRGEN_CPU_DEVICES, 8 when unset.
int device_count();

/// This thread's device ordinal.
int current_device();

/// Like CUDA: a priority outside the range becomes the nearest one inside.
int clamp_priority(int priority);

}  // namespace hirgen_cpu
