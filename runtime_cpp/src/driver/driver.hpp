// Runs an emitted program on one rank: makes its inputs, and checks, times and traces its calls.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "driver/options.hpp"
#include "driver/report.hpp"
#include "driver/safetensors.hpp"
#include "gemm/plan_options.hpp"
#include "hirgen/context.hpp"
#include "hirgen/program.hpp"
#include "hirgen/reference_device.hpp"

namespace hirgen {

class TraceRecorder;
struct RankTrace;

/// Throws Error(kUsage) unless all tensors of the options exist and only inputs are loaded. Also
/// throws the errors of LoadPlan(). Every rank checks this before it joins the others.
void check_tensor_names(const std::vector<TensorDesc>& descs, const Options& options);

/// Throws Error(kUsage) if the program cannot have the trace that the options request. Every rank
/// checks this before it joins the others.
void check_trace(const ProgramInfo& info, const Options& options);

/// The options with calls_per_graph = 1 unless the program launches CUDA graphs. Throws
/// Error(kUsage) if --iters is no multiple of calls_per_graph.
Options with_launches(const ProgramInfo& info, Options options);

class Driver {
 public:
  /// Collective: every rank of the context makes one.
  Driver(Context& context, const ProgramTable& table, const Options& options);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  /// Tunes, checks, dumps, times, reports and traces, by the options. Returns kOk or kWrong.
  Code run();

 private:
  /// The cost and the accuracy of tracing.
  struct TraceCost {
    std::vector<double> with, without;  ///< seconds of a call in each repeat
    double error = 0;                   ///< error of the time axis, nanoseconds
  };
  /// Prints on rank 0 only.
  void say(const std::string& text) const;
  void allocate_tensors();
  void load_files();
  /// Places the tensors of later calls `offset` bytes after the addresses that cudaMalloc returned,
  /// and copies the loaded tensors there.
  void place_tensors(size_t offset);
  /// Whether the driver generates the values of a tensor: it is an input that no file provides.
  bool is_drawn(size_t tensor) const;
  uint64_t seed_of(int64_t call) const;
  /// Computes the inputs that a forward pass saves, for every checked call, by the reference. Does
  /// nothing without a reference.
  void keep_saved_inputs();
  /// Puts the generated inputs of one checked call on the device; call 0 is the first. Inputs from
  /// files are already there.
  void fill_inputs(int64_t call);
  /// Generates the inputs of one checked call in the reference, as whole tensors with the values of
  /// fill_inputs(), and computes the saved inputs there.
  void draw_whole_inputs(int64_t call);
  /// Issues the checked calls back to back, and keeps each call's outputs if they are compared.
  void issue_checked_calls();
  /// Compares the kept outputs of all checked calls with the reference. Returns the number of wrong
  /// elements on all ranks.
  int64_t count_all_wrong();
  int64_t count_wrong_of_call(int64_t call);
  void evaluate_reference(int64_t call);
  /// Raises the report's tolerance to the norm of an output's bounds divided by the output's norm,
  /// if that is larger.
  void note_tolerance(const TensorDesc& output);
  void dump_tensor(const std::string& name, const std::string& path);
  /// Fills generated inputs with normal values, so that the load of the device is realistic.
  void fill_normal_inputs();
  /// Tunes the GEMMs for --tune, and reports their algorithms.
  void choose_algorithms();
  /// Seconds of one call in each repeat, on the slowest rank.
  std::vector<double> time_calls();
  /// Puts the times of each rank into the report.
  void gather_times();
  /// Issues the warm-up calls and times the repeats. Returns the seconds of one call in each
  /// repeat, on the slowest rank.
  std::vector<double> time_round();
  /// Times a round for each line on rank 0's standard input. Returns the times of all rounds.
  /// Throws Error(kUsage) if there is no line.
  std::vector<double> time_paced_rounds();
  /// Waits for the next line; false, on every rank, at the end of the input.
  bool another_round();
  /// Times one repeat. Returns the mean seconds of a call on the slowest rank. Records the calls
  /// unless `recorder` is null.
  double time_repeat(TraceRecorder* recorder = nullptr);
  void issue_calls(TraceRecorder* recorder);
  /// Traces a repeat, measures the cost of tracing, and writes the file of --trace.
  void trace_calls();
  void write_trace(const RankTrace& mine, const TraceCost& cost);
  /// Launches a CUDA graph of calls_per_graph calls, or issues one call.
  void call() { run_call(context_, *program_, stream_, tensors_, /*captured=*/false); }
  void describe_machine();

  Context& context_;
  const ProgramTable& table_;
  const Options options_;
  const std::vector<TensorDesc> descs_;
  std::vector<char*> buffers_;                  ///< memory of this rank's tensors, as allocated
  std::vector<void*> tensors_;                  ///< pointers for the next run(), by tensor
  std::vector<std::vector<void*>> kept_;        ///< outputs by checked call and tensor; input: null
  std::map<size_t, std::vector<char>> loaded_;  ///< shards of loaded tensors, by index of tensor
  std::map<size_t, std::vector<void*>> saved_;  ///< saved inputs, by tensor and checked call
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;  ///< events before and after a timed repeat
  ProgramPlans plans_;
  MemoryBytes memory_before_;  ///< counts before the program was made
  std::unique_ptr<Program> program_;
  std::unique_ptr<DeviceReference> reference_;
  bool exact_ = true;                ///< no output depends on rounding: check with integers
  std::vector<double> own_seconds_;  ///< time of a call in each repeat so far, on this rank
  Report report_;
};

}  // namespace hirgen
