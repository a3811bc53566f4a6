// The measurements of --calibrate, each of which sets some figures of a machine.
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

/// Measures a machine. All functions are collective. Sizes grow until a run takes long, so that the
/// measurement ends soon on any device.
class Bench {
 public:
  explicit Bench(Context& context);
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  /// Measures the bandwidth of device memory and of the L2 cache, and the share of the bandwidth of
  /// device memory that kernels reach.
  void memory(Figures& figures);
  /// Measures the fixed times of kernels, events, graphs and flags, on the device and on the host.
  /// Sets the fixed times of program calls and of NCCL to constants.
  void calls(Figures& figures);
  /// Measures the rates of GEMMs and the fixed time of a GEMM. Sets the fixed times of a tile and
  /// of split-k to constants.
  void gemms(Figures& figures);
  /// Measures copies between the GPUs of each rank and the next rank.
  void links(Figures& figures);
  /// Measures allgathers, allreduces, and sends with their receives.
  void collectives(Figures& figures);
  /// Measures the share of its rate that a GEMM loses while copies, collectives or other GEMMs run.
  /// Call this after gemms() and links().
  void contention(Figures& figures);

 private:
  /// Returns the time of a transfer of `bytes` bytes, in microseconds.
  using Timed = std::function<double(int64_t bytes)>;
  /// Returns the rates of transfers of growing sizes. A rate is the bytes moved, which are `moved`
  /// times the size, divided by the time minus `latency` (microseconds), but by a tenth of the time
  /// at least.
  RateCurve curve(double latency, const Timed& time, double moved = 1) const;
  /// Measures CUDA graphs: of one kernel, of many kernels, and of a kernel and two forks.
  void graphs(Figures& figures, const Meter::Issue& kernel, const Meter::Issue& fork);
  void flags(Figures& figures);
  CollectiveFigures team(int ranks, bool sums);
  CollectiveFigures pair();
  /// Measures the fixed time of a GEMM, and sets the fixed times of a tile and of split-k to
  /// constants.
  void fixed_times(const GemmRun& whole, Figures& figures);
  /// Makes and returns the largest GEMM of square matrices that runs in acceptable time.
  GemmRun& gemm(DType dtype);
  /// Returns the share of their rate that two GEMMs lose while `other` runs on beside_.
  double loss(const Meter::Issue& other);

  Context& context_;
  Meter meter_;
  Peers peers_;
  Shared* shared_ = nullptr;  ///< buffer_, shared by all ranks
  int64_t most_ = 0;          ///< bytes of buffer_ and of other_
  char* buffer_ = nullptr;    ///< peers read and write it
  char* other_ = nullptr;
  void* workspace_ = nullptr;
  cudaStream_t beside_ = nullptr;
  cudaEvent_t to_ = nullptr, from_ = nullptr;
  std::unique_ptr<GemmRun> gemm_;
};

}  // namespace hirgen
