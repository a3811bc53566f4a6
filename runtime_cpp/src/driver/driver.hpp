// The program over an emitted library, on one rank: inputs, checked calls, timed calls.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "check/tolerance.hpp"
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

/// Throws Error(kUsage) unless the options' tensors exist and inputs alone are loaded. Every
/// rank finds that alone, before it joins the others.
void check_tensor_names(const std::vector<TensorDesc>& descs, const Options& options);

/// Throws Error(kUsage) if the options ask for a trace that the program cannot have. Likewise.
void check_trace(const ProgramInfo& info, const Options& options);

class Driver {
 public:
  /// Collective: every rank of the context makes one.
  Driver(Context& context, const ProgramTable& table, const Options& options);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  /// Checks, dumps, times and reports as the options say. Returns kOk or kWrong.
  Code run();

 private:
  /// What tracing costs, and how exact it is.
  struct TraceCost {
    std::vector<double> with, without;  ///< seconds of a call in each repeat
    double error = 0;                   ///< of the time axis, nanoseconds
  };
  /// Prints on rank 0.
  void say(const std::string& text) const;
  void allocate_tensors();
  void load_files();
  /// Lets calls have their tensors so many bytes behind what cudaMalloc gave, loaded ones with
  /// their elements.
  void place_tensors(size_t offset);
  /// Whether a checked call chooses the values of a tensor: it is an input, and no file gave it.
  bool is_drawn(size_t tensor) const;
  uint64_t seed_of(int64_t call) const;
  /// Makes the inputs that a forward pass saves, of every checked call.
  void keep_saved_inputs();
  /// Puts the inputs of one checked call on the device; call 0 is the first one.
  void fill_inputs(int64_t call);
  /// Puts them into the reference.
  void draw_whole_inputs(int64_t call);
  /// Issues the checked calls back to back; keeps each call's outputs.
  void issue_checked_calls();
  /// Compares what they left with the reference. Wrong elements over all ranks.
  int64_t count_all_wrong();
  int64_t count_wrong_of_call(int64_t call);
  void evaluate_reference(int64_t call);
  /// How far an output may be from the reference, which has been evaluated.
  Tolerance tolerance_for(const TensorDesc& output);
  void dump_tensor(const std::string& name, const std::string& path);
  /// Puts inputs on the device that load it as data in use does.
  void fill_normal_inputs();
  /// Chooses the algorithms of the GEMMs, as --plans and --tune say.
  void choose_algorithms();
  /// Seconds of one call in each repeat, on the slowest rank.
  std::vector<double> time_calls();
  /// Puts those of each rank into the report.
  void gather_times();
  /// Those of one round of warm-up calls and repeats.
  std::vector<double> time_round();
  /// The rounds that lines on rank 0's standard input ask for; at least one.
  std::vector<double> time_paced_rounds();
  /// Waits for the next line; false, on every rank, at the end of the input.
  bool another_round();
  /// Seconds of a call of one repeat, on the slowest rank; its calls are recorded, unless null.
  double time_repeat(TraceRecorder* recorder = nullptr);
  void issue_calls(TraceRecorder* recorder);
  /// Traces a repeat, finds out what that costs, and writes --trace.
  void trace_calls();
  void write_trace(const RankTrace& mine, const TraceCost& cost);
  void call() { run_call(context_, *program_, stream_, tensors_); }
  void describe_machine();

  Context& context_;
  const ProgramTable& table_;
  const Options options_;
  const std::vector<TensorDesc> descs_;
  std::vector<char*> buffers_;                  ///< that calls have their tensors in
  std::vector<void*> tensors_;                  ///< one call's, as run() takes them
  std::vector<std::vector<void*>> kept_;        ///< by checked call, its tensors; inputs are null
  std::map<size_t, std::vector<char>> loaded_;  ///< the shards of tensors that --load gave
  std::map<size_t, std::vector<void*>> saved_;  ///< what a forward pass saves, by checked call
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;  ///< of a timed repeat
  ProgramPlans plans_;
  MemoryBytes memory_before_;  ///< the program was made
  std::unique_ptr<Program> program_;
  std::unique_ptr<DeviceReference> reference_;
  bool exact_ = true;                ///< the program keeps integers integers
  Tolerance tolerance_;              ///< of an exact program: 0 unless files were loaded
  std::vector<double> own_seconds_;  ///< a call's of each repeat so far, on this rank
  Report report_;
};

}  // namespace hirgen
