// Reads tensors of a checkpoint as tensors of the program: with merged or split axes, with columns
// split over ranks, transposed or stacked.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hirgen/tensor.hpp"

namespace hirgen {

/// Elements of files, seen as one tensor. Strides are in elements.
struct StoredView {
  std::string name;   ///< name of the tensor, for errors
  std::string dtype;  ///< name of the element type in the file, such as "BF16"
  std::vector<int64_t> extents, strides;
  /// Where the elements begin. A stack has one address for each index of its first axis, whose
  /// stride is 0.
  std::vector<const char*> bases;
};

/// Copies elements of views into this rank's shard of a tensor, or into the whole tensor if
/// `whole`. Reads only the bytes that it copies. Of several views, each rank takes its shard of
/// each, and joins these shards along the first axis that is not split and longer than 1.
///
/// A view has the shape of the tensor, or adjacent axes of it are merged or split. If it does not
/// fit so, an axis that is split over ranks may also be part of a later axis of the view. For
/// example, let a tensor have axes [2, 4, 4], of which the first is split over two ranks. It can be
/// read from [8, 4], whose rows are split, or from [4, 8], whose columns are split.
///
/// Throws Error(kEnvironment) if the types differ, if the shape does not fit, or if it fits only
/// with moved axes and in several ways. The message has the types and shapes of view and tensor.
std::vector<char> read_views(const std::vector<StoredView>& views, const TensorDesc& desc,
                             bool whole);

/// A shape as text: "[8, 4]".
std::string shape_text(const std::vector<int64_t>& shape);

/// The name of an element type in files: "BF16".
const char* stored_name(DType type);

}  // namespace hirgen
