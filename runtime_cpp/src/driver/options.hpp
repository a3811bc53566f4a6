// The command line of an emitted program.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hirgen {

/// NAME and FILE (for --load FILE[:TENSOR]) of --load and --dump, in the order of the command line.
using NamedFiles = std::vector<std::pair<std::string, std::string>>;

/// The options of the driver, with the defaults of --help.
struct Options {
  int64_t iters = 10;           ///< back-to-back calls of a repeat
  int64_t warmup = 5;           ///< calls before the repeats of a round
  int64_t repeats = 7;          ///< timed repeats; the median is reported
  int64_t checks = 2;           ///< checked calls, back to back, each with new inputs
  int64_t calls_per_graph = 1;  ///< calls in one CUDA graph, if the program launches graphs
  uint64_t seed = 1;            ///< seed of the inputs
  double timeout = 60;          ///< seconds, bound of every wait
  bool check = true;            ///< compare with the reference
  bool paced = false;           ///< a line on rank 0's standard input starts a round of repeats
  bool tune = false;            ///< choose the GEMMs' algorithms by timing them
  bool require_secret = false;  ///< several ranks do not start without a job secret
  bool running_time = false;    ///< deadlines count at most 0.2 s of each stop of the process
  bool help = false;
  std::string json;       ///< report file; "" for none
  std::string plans;      ///< file of chosen algorithms; "": PROGRAM.plans.json if tune, else none
  std::string trace;      ///< file of a timeline; "" for none
  std::string calibrate;  ///< file for figures of the machine; then the program does nothing else;
                          ///< "" for none
  std::string transport;  ///< "auto", "ipc" or "nccl"; "": HIRGEN_TRANSPORT decides
  std::string load_map;   ///< file of a LoadPlan; "" for none
  NamedFiles load, dump;
};

/// Reads "--name value", "--name=value" and switches; throws Error(kUsage) with the wrong option.
Options parse_options(int argc, const char* const* argv);

/// The text of --help.
std::string usage(const std::string& program);

}  // namespace hirgen
