// The virtual devices of a process.
#pragma once

namespace hirgen_cpu {

/// HIRGEN_CPU_DEVICES, or 64 if it is not set. Throws Failure unless it is a number from 0 to 255.
int device_count();

/// This thread's device ordinal.
int current_device();

/// Clamps a priority to the valid range, as CUDA does.
int clamp_priority(int priority);

}  // namespace hirgen_cpu
