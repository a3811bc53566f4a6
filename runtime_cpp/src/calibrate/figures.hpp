// The figures of a machine that --calibrate measures, and their JSON form, which hirgen check
// --machine reads.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace hirgen {

/// The rate, in gigabytes (1e9 bytes) per second, at which `bytes` bytes are moved.
struct RatePoint {
  double bytes = 0, gbps = 0;
};
using RateCurve = std::vector<RatePoint>;  ///< in ascending order of bytes; not empty

/// The rate that GEMMs sustain at the power limit, and the peak rate of a short GEMM.
struct GemmRate {
  double sustained_tflops = 0, peak_tflops = 0;
};

/// A collective of `ranks` ranks, or a send with its receive: the latency, and the rate at which a
/// rank sends bytes, by the number of bytes that it sends.
struct CollectiveFigures {
  int ranks = 0;
  double latency_us = 0;
  RateCurve gbps;
};

/// The figures of a machine. Times are in microseconds; docs/predictions.md describes the fields.
struct Figures {
  std::string name, source;
  int sms = 0;
  std::map<std::string, GemmRate> gemm;  ///< rates by element type
  bool row_scales_apart = false;         ///< cuBLASLt has no scales of rows, so a kernel scales
  RateCurve hbm;
  double kernel_share = 1;  ///< the share of the rate of hbm that kernels reach
  double l2_gbps = 0, l2_bytes = 0;
  std::map<std::string, double> device, host;  ///< fixed times on GPU and host, by operation
  RateCurve pull, push, sm_copy;
  double limit_gbps = 0;  ///< limit for all transfers of a GPU in one direction
  CollectiveFigures pair;
  std::vector<CollectiveFigures> allreduce, teams;  ///< in ascending order of ranks
  /// The share of a GEMM's rate that is lost to other work, by the kind of the other work.
  std::map<std::string, double> beside;
};

/// Returns the number of SMs that a collective occupies on a GPU with `sms` SMs.
int64_t nccl_sms(int sms);

/// Returns the figures as one JSON object.
std::string to_json(const Figures& figures);

}  // namespace hirgen
