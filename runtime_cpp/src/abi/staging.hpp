// Copies of the caller's tensors that peers must access but cannot open over CUDA IPC.
#pragma once

#include <cuda_runtime.h>

#include <map>
#include <vector>

#include "hirgen/context.hpp"
#include "hirgen/tensor.hpp"

namespace hirgen {

/// CUDA IPC can share only memory that cudaMalloc() allocated. Shared tensors in other memory (a
/// pool's, or virtual memory as in PyTorch's expandable segments) are copied, and the program uses
/// the copies.
class Staging {
 public:
  /// The pointers that the program uses in a call with `tensors`. May allocate memory for a pointer
  /// that was not in an earlier call.
  std::vector<void*> places(Context& context, const std::vector<TensorDesc>& descs,
                            void* const* tensors);
  /// Copy the inputs before a call, and the outputs after it, on the stream of the call.
  void copy_in(cudaStream_t stream) const;
  void copy_out(cudaStream_t stream) const;

 private:
  /// A tensor of the last call: the caller's memory `given`, and its copy `place`.
  struct Copy {
    const TensorDesc* desc;
    void* given;
    void* place;
  };
  void* place_of(Context& context, const TensorDesc& desc, void* given);

  /// The pointer that the program uses, for each tensor and caller's pointer of all calls so far.
  std::map<std::pair<const TensorDesc*, void*>, void*> places_;
  std::vector<Copy> copies_;  ///< the tensors that the last call copies
};

}  // namespace hirgen
