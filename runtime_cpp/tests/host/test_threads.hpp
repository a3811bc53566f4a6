// Options for ranks of a rendezvous that are threads of one process.
#pragma once

#include <string>

#include "hirgen/context.hpp"

namespace hirgen::test {

/// The options of a rank that meets the others at a port of the loopback interface.
inline ContextOptions options_of(int rank, int world, int port) {
  ContextOptions options;
  options.rank = rank;
  options.world = world;
  options.mesh_size = world;
  options.address = "127.0.0.1";
  options.port = port;
  options.timeout_seconds = 3;
  options.program = "test";
  options.digest = "d1";
  options.job = "job";
  return options;
}

}  // namespace hirgen::test
