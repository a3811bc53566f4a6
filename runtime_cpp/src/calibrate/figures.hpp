// The figures of a machine that --calibrate measures, and their JSON form, which hirgen check
// --machine reads.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hirgen {

/// A rate in gigabytes (1e9 bytes) per second for a size.
struct RatePoint {
  double bytes = 0, gbps = 0;
};
using RateCurve = std::vector<RatePoint>;  ///< in ascending order of bytes; not empty

/// The rate that GEMMs sustain, and the peak rate of a short GEMM.
struct GemmRate {
  double sustained_tflops = 0, peak_tflops = 0;
};

/// A collective of `ranks` ranks: its latency, and the rate of the bytes that a rank sends.
struct CollectiveFigures {
  int ranks = 0;
  double latency_us = 0;
  RateCurve gbps;
};

/// A machine. Times are in microseconds; docs/predictions.md has the fields.
struct Figures {
  std::string name, source;
  int sms = 0;
  std::map<std::string, GemmRate> gemm;  ///< by element type
  RateCurve hbm;
  double kernel_share = 1;  ///< the share of this rate that kernels reach
  double l2_gbps = 0, l2_bytes = 0;
  std::map<std::string, double> device, host;
  RateCurve pull, push, sm_copy;
  double limit_gbps = 0;  ///< of all transfers of a GPU in one direction
  CollectiveFigures pair;
  std::vector<CollectiveFigures> allreduce, teams;  ///< in ascending order of ranks
  std::map<std::string, double> beside;
};

/// The number of SMs that a collective occupies on a GPU with `sms` SMs.
int64_t nccl_sms(int sms);

/// The figures as one JSON object.
std::string to_json(const Figures& figures);

}  // namespace hirgen
