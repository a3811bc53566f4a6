// Tensors in files, in the safetensors format: a JSON header, then raw elements. PyTorch,
// NumPy and others read and write it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "hirgen/tensor.hpp"

namespace hirgen {

/// One tensor of a file.
struct StoredTensor {
  std::string name;
  std::string dtype;  ///< "BF16"
  std::vector<int64_t> shape;
  const char* data = nullptr;  ///< little-endian, row-major; lives with the file
  size_t bytes = 0;
};

/// A file opened for reading. Its header must describe its content: each byte belongs to one
/// tensor, and each tensor has the bytes of its type and shape. Otherwise, or if the file cannot be
/// read, throws Error(kEnvironment) with the path.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);

  const std::vector<StoredTensor>& tensors() const { return tensors_; }

  /// The elements of the whole tensor with the name of `desc`. Throws Error(kEnvironment) with both
  /// sides of a mismatch if it has another type or shape.
  const char* elements_of(const TensorDesc& desc) const;

 private:
  std::string path_;
  MappedFile file_;
  std::vector<StoredTensor> tensors_;
};

/// Writes one whole tensor under its name and logical shape, as write_file() does.
void write_safetensors(const std::string& path, const TensorDesc& desc,
                       const std::vector<char>& elements, double seconds = 60);

}  // namespace hirgen
