// The interface between an emitted program and the runtime's driver and C ABI.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hirgen/c_api.h"
#include "hirgen/context.hpp"
#include "hirgen/tensor.hpp"

namespace hirgen {

class Reference;

/// A program bound to one rank's context.
class Program {
 public:
  virtual ~Program() = default;
  /// Issues one call on the caller's stream. `tensors` holds the caller's device pointers in the
  /// order of ProgramTable::tensors (inputs, then outputs). Does not wait for the GPU; blocks the
  /// host only to share new buffers with other ranks (Peers::share_for_call, Peers::prepare), and
  /// until UCC has started a collective.
  virtual void run(cudaStream_t caller, const std::vector<void*>& tensors) = 0;
};

/// The size of one GEMM of the program on one rank, for the columns M, N, K and TFLOP/s of the
/// report. If the GEMM is in a loop, m is the sum over all iterations.
struct GemmInfo {
  int64_t m, n, k, batch;
};

/// The constants of an emitted program.
struct ProgramInfo {
  std::string name;
  std::string spec;    ///< base name of the spec
  std::string digest;  ///< hash of the emitted calls.txt; must be the same on all ranks
  int mesh_size = 1;
  std::vector<GemmInfo> gemms;
  /// The kind, mesh axes and mesh of every communication, without the mesh if it holds all ranks:
  /// "allgather x", "sendrecv x of left", "sendrecv from left to right".
  std::vector<std::string> communications = {};
  /// The size in bytes of the largest communication in a call, counted as in nccl-tests. For a
  /// collective, this is the size of its operand or of its result on one rank, whichever is larger.
  /// For sends and receives, it is the number of bytes that one rank receives from others.
  int64_t bytes = 0;
  std::string largest = {};    ///< kind of that communication: "allgather"; empty for none
  int team_size = 1;           ///< number of ranks of `largest` if it is a collective, else 1
  std::string transport = {};  ///< of the program that `create` makes: "nccl", "ipc-get", ...
  bool graph = false;          ///< calls launch CUDA graphs (GraphCache)
  /// Parameters of the spec by name, with the values of this program. Reports show them, and ranks
  /// compare them when they join.
  std::vector<std::pair<std::string, int64_t>> parameters = {};
};

/// The entry points of an emitted program, for the driver and the C ABI.
struct ProgramTable {
  ProgramInfo info;
  /// Returns the tensors as `rank` sees them: inputs first.
  std::vector<TensorDesc> (*tensors)(int rank);
  std::unique_ptr<Program> (*create)(Context& context);
  /// Computes the operations of the spec, one by one, on whole tensors. The check compares the
  /// program's outputs with these results.
  void (*reference)(Reference& reference);
  /// Computes the tensors that a forward pass saves for this program; called before `reference`.
  /// Null if there are none.
  void (*saved)(Reference& reference) = nullptr;
  /// Makes the fallback variant, for ranks that cannot all share memory. It uses CUDA IPC between
  /// IPC peers (Context::ipc_peers) and NCCL between other ranks. Null if there is no such variant.
  std::unique_ptr<Program> (*create_across_nodes)(Context& context) = nullptr;
  /// Used only with create_across_nodes, to choose between it and `create`: returns the ranks whose
  /// memory this rank must be able to access for `create`. Null: all ranks.
  std::vector<int> (*sharers)(const Context& context) = nullptr;
};

/// Returns whether `caller` is being captured into a graph of the application. `capturable` is
/// ProgramInfo::graph: only programs with graphs count their calls on the device, so that an
/// application's graph can launch a call many times. Throws Error(kUsage) if `caller` is captured
/// and the program is not capturable, or if the use of `caller` would break the capture of another
/// stream.
bool is_captured(cudaStream_t caller, bool capturable);

/// Tells the watchdog that a call begins, then issues the call. The driver and the C ABI issue
/// every call through this function. `captured` is the result of is_captured().
void run_call(Context& context, Program& program, cudaStream_t caller,
              const std::vector<void*>& tensors, bool captured);

/// main() of an emitted program: reads the options, fills inputs, checks, times and reports.
/// Returns the exit code.
int run_main(int argc, char** argv, const ProgramTable& table);

}  // namespace hirgen
