#include "driver/safetensors.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include "base/json.hpp"
#include "base/text.hpp"
#include "hirgen/error.hpp"

namespace hirgen {

namespace {

constexpr size_t kLengthBytes = 8;  // bytes of the field for the header's length, little-endian
constexpr size_t kLargestHeader = size_t{100} << 20;

class HeaderReader {
 public:
  HeaderReader(const std::string& path, const MappedFile& file) : path_(path), file_(file) {}

  std::vector<StoredTensor> read() {
    uint64_t length = 0;
    if (file_.size() < kLengthBytes) fail("it is too short");
    std::memcpy(&length, file_.data(), kLengthBytes);
    if (length > kLargestHeader || length > file_.size() - kLengthBytes) {
      fail("its header is longer than the file");
    }
    begin_ = kLengthBytes + length;
    const JsonValue header = parse_header({file_.data() + kLengthBytes, length});
    if (header.kind != JsonValue::Kind::kObject) fail("its header is not an object");
    std::vector<StoredTensor> tensors;
    for (const auto& [name, entry] : header.members) {
      if (name != "__metadata__") tensors.push_back(read_entry(name, entry));
    }
    check_coverage(tensors);
    return tensors;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(Code::kEnvironment, path_ + " is not a safetensors file: " + what);
  }

  JsonValue parse_header(const std::string& text) const {
    try {
      return parse_json(text);
    } catch (const JsonError& error) {
      fail(format("its header is no JSON: %s at byte %zu", error.problem().c_str(),
                  kLengthBytes + error.at()));
    }
  }

  // Throws unless the tensors' bytes fill the file from the end of the header, without gaps or
  // overlaps.
  void check_coverage(const std::vector<StoredTensor>& tensors) const {
    std::vector<const StoredTensor*> order;
    for (const StoredTensor& tensor : tensors) order.push_back(&tensor);
    std::sort(order.begin(), order.end(), [](const StoredTensor* a, const StoredTensor* b) {
      return std::pair(a->data, a->bytes) < std::pair(b->data, b->bytes);
    });
    const char* end = file_.data() + begin_;
    std::string before = "the header";
    for (const StoredTensor* tensor : order) {
      if (tensor->data < end) fail("tensor " + tensor->name + " overlaps " + before);
      if (tensor->data > end) fail("bytes between " + before + " and tensor " + tensor->name);
      end += tensor->bytes;
      before = tensor->name;
    }
    if (end != file_.data() + file_.size()) fail("bytes after " + before);
  }

  // Throws unless the number of the tensor's bytes matches its shape and type. Accepts any number
  // for types that element_bytes() does not know.
  void check_size(const StoredTensor& tensor) const {
    size_t wanted = element_bytes(tensor.dtype);
    if (wanted == 0) return;
    for (const int64_t extent : tensor.shape) {
      if (__builtin_mul_overflow(wanted, static_cast<size_t>(extent), &wanted)) wanted = SIZE_MAX;
    }
    if (wanted == tensor.bytes) return;
    fail(format("tensor %s, %s %s, has %zu bytes", tensor.name.c_str(), tensor.dtype.c_str(),
                shape_text(tensor.shape).c_str(), tensor.bytes));
  }

  // Returns a whole number from 0 to 2^53, which a double holds exactly; throws for other values.
  int64_t natural(const JsonValue& value, const std::string& name) const {
    constexpr double kMost = 9007199254740992.0;
    if (value.kind != JsonValue::Kind::kNumber || value.number < 0 || value.number > kMost ||
        value.number != std::floor(value.number)) {
      fail("tensor " + name + " has a size that is no natural number");
    }
    return static_cast<int64_t>(value.number);
  }

  StoredTensor read_entry(const std::string& name, const JsonValue& entry) const {
    const JsonValue* dtype = entry.find("dtype");
    const JsonValue* shape = entry.find("shape");
    const JsonValue* offsets = entry.find("data_offsets");
    if (dtype == nullptr || dtype->kind != JsonValue::Kind::kString || shape == nullptr ||
        shape->kind != JsonValue::Kind::kArray || offsets == nullptr ||
        offsets->items.size() != 2) {
      fail("tensor " + name + " lacks dtype, shape or data_offsets");
    }
    StoredTensor tensor;
    tensor.name = name;
    tensor.dtype = dtype->text;
    for (const JsonValue& extent : shape->items) tensor.shape.push_back(natural(extent, name));
    const auto first = static_cast<size_t>(natural(offsets->items[0], name));
    const auto last = static_cast<size_t>(natural(offsets->items[1], name));
    if (first > last || last > file_.size() - begin_) {
      fail("tensor " + name + " lies outside the file");
    }
    tensor.data = file_.data() + begin_ + first;
    tensor.bytes = last - first;
    check_size(tensor);
    return tensor;
  }

  const std::string& path_;
  const MappedFile& file_;
  size_t begin_ = 0;
};

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path)
    : path_(path), file_(path), tensors_(HeaderReader(path_, file_).read()) {}

size_t element_bytes(const std::string& type) {
  static const std::map<std::string, size_t> sizes{
      {"BOOL", 1}, {"U8", 1},   {"I8", 1},  {"U16", 2},     {"I16", 2},
      {"F16", 2},  {"BF16", 2}, {"U32", 4}, {"I32", 4},     {"F32", 4},
      {"U64", 8},  {"I64", 8},  {"F64", 8}, {"F8_E4M3", 1}, {"F8_E5M2", 1}};
  const auto found = sizes.find(type);
  return found == sizes.end() ? 0 : found->second;
}

StoredView whole_view(const StoredTensor& tensor) {
  StoredView view{tensor.name, tensor.dtype, tensor.shape, {}, {tensor.data}};
  int64_t stride = 1;
  for (size_t i = tensor.shape.size(); i-- > 0; stride *= tensor.shape[i]) {
    view.strides.insert(view.strides.begin(), stride);
  }
  return view;
}

void write_safetensors(const std::string& path, const TensorDesc& desc,
                       const std::vector<char>& elements, double seconds) {
  std::string header = format("{%s:{\"dtype\":\"%s\",\"shape\":%s,\"data_offsets\":[0,%zu]}}",
                              json_quote(desc.name).c_str(), stored_name(desc.dtype),
                              shape_text(desc.shape()).c_str(), elements.size());
  // Elements start at a multiple of 8.
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const uint64_t length = header.size();
  write_file(
      path,
      {{&length, kLengthBytes}, {header.data(), header.size()}, {elements.data(), elements.size()}},
      seconds);
}

}  // namespace hirgen
