// --calibrate: measures the machine that the ranks run on, for hirgen check --machine.
#pragma once

#include "driver/options.hpp"
#include "hirgen/context.hpp"

namespace hirgen {

/// Measures GEMMs, memory, links, collectives and the fixed times of calls. Rank 0 writes the
/// figures to the file options.calibrate. Collective. Throws Error(kUsage) on fewer than 2 ranks,
/// and Error(kEnvironment) if ranks cannot share memory or the file cannot be written.
void calibrate(Context& context, const Options& options);

}  // namespace hirgen
