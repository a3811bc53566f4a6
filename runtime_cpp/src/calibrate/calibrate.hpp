// --calibrate: measures the machine that the ranks run on, for hirgen check --machine.
#pragma once

#include "driver/options.hpp"
#include "hirgen/context.hpp"

namespace hirgen {

/// Measures GEMMs, memory, links, collectives and the fixed costs of calls. Rank 0 writes the
/// results to options.calibrate. Collective. Throws Error(kUsage) on fewer than 2 ranks, and
/// Error(kEnvironment) if ranks cannot share memory.
void calibrate(Context& context, const Options& options);

}  // namespace hirgen
