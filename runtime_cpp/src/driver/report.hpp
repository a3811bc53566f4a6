// Formats the results of a run: as columns in the style of nccl-tests, and as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attention/book.hpp"
#include "driver/options.hpp"
#include "gemm/plan_report.hpp"
#include "hirgen/program.hpp"

namespace hirgen {

/// One rank's process and device.
struct RankInfo {
  int rank = 0;
  int pid = 0;
  int device = 0;
  std::string host;
  std::string bus_id;
  std::string device_name;
};

/// Versions as the libraries number them (13000, 22803).
struct Versions {
  int runtime = 0;
  int driver = 0;
  int nccl = 0;
};

/// The results of a whole run, as one rank knows them.
struct Report {
  const ProgramInfo* info = nullptr;
  std::string transport;  ///< the transport in use: "nccl", "ipc-get", ... (MadeProgram::transport)
  MemoryBytes memory;     ///< memory of this rank, without inputs and outputs
  Options options;
  DType dtype = DType::kBf16;  ///< type of the first tensor; the counts of elements assume it
  Versions versions;
  std::vector<RankInfo> ranks;
  std::vector<PlanReport> plans;                  ///< this rank's GEMMs and their algorithms
  std::vector<AttentionReport> attentions;        ///< this rank's attentions and their methods
  std::vector<double> repeat_seconds;             ///< one call's time in each repeat, slowest rank
  std::vector<std::vector<double>> rank_seconds;  ///< times on each rank: by rank, then by repeat
  std::optional<int64_t> wrong;  ///< wrong elements of all ranks and checked calls; unset: no check
  double tolerance = 0;          ///< largest norm(bounds) / norm(output) of an output; 0: exact
  int64_t not_finite = 0;        ///< checked elements whose reference is NaN or infinite
  int64_t checked = 0;           ///< elements of outputs in all checked calls
  int64_t unsure = 0;  ///< those that are not compared, since rounding or NaN decides them
};

/// The median of the values, or the mean of the middle two of an even number. Call it with at least
/// one value.
double median(std::vector<double> values);

/// Floating-point operations of the GEMMs of one call on one rank.
double flops(const ProgramInfo& info);

/// busbw divided by algbw, as nccl-tests defines it for a kind of communication on `ranks` ranks:
/// how many times the tensor's size crosses each link of an ideal machine.
double bus_factor(const std::string& kind, int ranks);

/// The communications of a program in one line. Equal ones appear once, with their number:
/// "allgather x (2), reducescatter x", or "none".
std::string communications(const ProgramInfo& info);

/// The lines that precede a run: "#"-comments with program, ranks and versions.
std::string header(const Report& report);
/// Column names, one row of numbers, the memory of rank 0 and the result of the check.
std::string columns(const Report& report);
/// The whole report as one JSON object.
std::string to_json(const Report& report);

}  // namespace hirgen
