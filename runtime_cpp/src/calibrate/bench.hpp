// The measurements of --calibrate, each of a part of what a machine is described by.
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

/// All of it is collective. Sizes grow until one run takes long, so that it ends soon on any
/// device.
class Bench {
 public:
  explicit Bench(Context& context);
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  /// Bandwidth of memory and of the cache.
  void memory(Figures& figures);
  /// What calls take besides their work, on the device and of the host. Follows memory().
  void calls(Figures& figures);
  /// Rates of GEMMs. Follows calls().
  void gemms(Figures& figures);
  /// Copies between GPUs, each rank with the next one. Follows calls().
  void links(Figures& figures);
  /// Allgathers, allreduces, and sends with their receives.
  void collectives(Figures& figures);
  /// What a GEMM loses beside others, copies and collectives. Follows gemms().
  void contention(Figures& figures);

 private:
  /// Times one size, in bytes; `moved` of it.
  using Timed = std::function<double(int64_t bytes)>;
  /// The curve of what moves that many bytes in a time above `latency`.
  RateCurve curve(double latency, const Timed& time, double moved = 1) const;
  /// Graphs of one and of many small kernels, and of forks, each of two kernels at once.
  void graphs(Figures& figures, const Meter::Issue& kernel, const Meter::Issue& fork);
  void flags(Figures& figures);
  CollectiveFigures team(int ranks, bool sums);
  CollectiveFigures pair();
  /// What a GEMM takes besides its work.
  void fixed_times(const GemmRun& whole, Figures& figures);
  /// The largest GEMM of square matrices whose run is not too long.
  GemmRun& gemm(DType dtype);
  /// Share of its rate that the GEMM loses while `other` is issued to its own stream.
  double loss(const Meter::Issue& other);

  Context& context_;
  Meter meter_;
  Peers peers_;
  Shared* shared_ = nullptr;  ///< buffer_ of every rank
  int64_t most_ = 0;          ///< bytes of each buffer
  char* buffer_ = nullptr;    ///< that peers read and write
  char* other_ = nullptr;
  void* workspace_ = nullptr;
  cudaStream_t beside_ = nullptr;
  cudaEvent_t to_ = nullptr, from_ = nullptr;
  std::unique_ptr<GemmRun> gemm_;
};

}  // namespace hirgen
