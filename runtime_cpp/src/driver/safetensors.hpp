// Tensors in files, in the safetensors format: a JSON header, then raw elements. PyTorch,
// NumPy and others read and write it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/files.hpp"
#include "driver/stored_view.hpp"
#include "hirgen/tensor.hpp"

namespace hirgen {

/// One tensor of a file.
struct StoredTensor {
  std::string name;
  std::string dtype;  ///< name of the element type in the file, such as "BF16"
  std::vector<int64_t> shape;
  const char* data = nullptr;  ///< row-major, little-endian elements; valid while the file is open
  size_t bytes = 0;
};

/// A file opened for reading. Its header must describe its content: each byte after the header
/// belongs to one tensor, and each tensor of a type that element_bytes() knows has the bytes of its
/// shape. Otherwise, or if the file cannot be read, throws Error(kEnvironment) with the path.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);

  const std::vector<StoredTensor>& tensors() const { return tensors_; }

 private:
  std::string path_;
  MappedFile file_;
  std::vector<StoredTensor> tensors_;
};

/// The bytes of an element of a type, such as 2 for "BF16"; 0 for a type that is not known, such as
/// "F4".
size_t element_bytes(const std::string& type);

/// A view of a whole tensor of a file.
StoredView whole_view(const StoredTensor& tensor);

/// Writes a file with one whole tensor, under its name and with its logical shape, by write_file().
void write_safetensors(const std::string& path, const TensorDesc& desc,
                       const std::vector<char>& elements, double seconds = 60);

}  // namespace hirgen
