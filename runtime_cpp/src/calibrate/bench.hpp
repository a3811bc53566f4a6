// The measurements of --calibrate. Each sets some of a machine's figures.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "calibrate/figures.hpp"
#include "calibrate/gemm_run.hpp"
#include "calibrate/meter.hpp"
#include "hirgen/context.hpp"
#include "hirgen/ipc.hpp"
#include "hirgen/matmul.hpp"

namespace hirgen {

/// All functions are collective. Sizes grow until one run takes long, so that the measurement ends
/// soon on any device.
class Bench {
 public:
  explicit Bench(Context& context);
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  /// Bandwidth of memory and of the cache.
  void memory(Figures& figures);
  /// The fixed times of calls, on the device and on the host. Call this after memory().
  void calls(Figures& figures);
  /// Rates of GEMMs. Call this after calls().
  void gemms(Figures& figures);
  /// Copies between the GPUs of each rank and the next one. Call this after calls().
  void links(Figures& figures);
  /// Allgathers, allreduces, and sends with their receives.
  void collectives(Figures& figures);
  /// The rate that a GEMM loses while copies, collectives or other GEMMs run. Call this after
  /// gemms().
  void contention(Figures& figures);

 private:
  /// Returns the time of a transfer of `bytes` bytes.
  using Timed = std::function<double(int64_t bytes)>;
  /// The rates of transfers, by size: the bytes moved, `moved` times the size, over the time above
  /// `latency`.
  RateCurve curve(double latency, const Timed& time, double moved = 1) const;
  /// Graphs of one and of many small kernels, and of forks of two kernels each.
  void graphs(Figures& figures, const Meter::Issue& kernel, const Meter::Issue& fork);
  void flags(Figures& figures);
  CollectiveFigures team(int ranks, bool sums);
  CollectiveFigures pair();
  /// The fixed times of a GEMM.
  void fixed_times(const GemmRun& whole, Figures& figures);
  /// The largest GEMM of square matrices that runs in acceptable time.
  GemmRun& gemm(DType dtype);
  /// The share of its rate that the GEMM loses while `other` runs on the second stream.
  double loss(const Meter::Issue& other);

  Context& context_;
  Meter meter_;
  Peers peers_;
  Shared* shared_ = nullptr;  ///< buffer_ of every rank
  int64_t most_ = 0;          ///< bytes of each buffer
  char* buffer_ = nullptr;    ///< for reads and writes by peers
  char* other_ = nullptr;
  void* workspace_ = nullptr;
  cudaStream_t beside_ = nullptr;
  cudaEvent_t to_ = nullptr, from_ = nullptr;
  std::unique_ptr<GemmRun> gemm_;
};

}  // namespace hirgen
