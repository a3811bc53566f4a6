#include "attention/zeros.hpp"
#include "hirgen/parallel_for.hpp"

namespace hirgen {
namespace {

struct Zeros {
  uint16_t* data;
  AttentionStride stride;
  int64_t heads, rows, size;

  HG_HOST_DEVICE void operator()(int64_t i) const {
    const int64_t row = i / size, head = row / rows;
    data[head / heads * stride.batch + head % heads * stride.head + row % rows * stride.row +
         i % size] = 0;
  }
};

}  // namespace

void clear_keys(const AttentionShape& shape, int64_t first, void* gradient,
                const AttentionStride& stride, cudaStream_t stream, const char* where) {
  const int64_t rows = shape.key_rows - first;
  auto* data = static_cast<uint16_t*>(gradient) + first * stride.row;
  parallel_for(shape.batch * shape.key_heads * rows * shape.head_size, stream, where,
               Zeros{data, stride, shape.key_heads, rows, shape.head_size});
}

}  // namespace hirgen
