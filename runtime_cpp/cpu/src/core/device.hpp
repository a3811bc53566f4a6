// The virtual devices of a process.
#pragma once

namespace hirgen_cpu {

/// Returns HIRGEN_CPU_DEVICES, or 64 if the variable is unset or empty. Throws
/// Failure(cudaErrorInitializationError) if its text is not a number from 0 to 255.
int device_count();

/// Returns the ordinal of this thread's current device, which is 0 until cudaSetDevice.
int current_device();

/// Clamps a stream priority to the range from -5 (greatest) to 0 (least), as CUDA does.
int clamp_priority(int priority);

}  // namespace hirgen_cpu
