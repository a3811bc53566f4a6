#include "check/reference_shapes.hpp"

#include "hirgen/error.hpp"

namespace hirgen::reference {

int64_t elements_between(const Shape& shape, size_t from, size_t to) {
  int64_t product = 1;
  for (size_t d = from; d < to; ++d) product *= shape[d];
  return product;
}

int64_t elements_of(const Shape& shape) { return elements_between(shape, 0, shape.size()); }

std::string text(const Shape& shape) {
  std::string result = "[";
  for (const int64_t extent : shape) {
    result += (result.size() > 1 ? ", " : "") + std::to_string(extent);
  }
  return result + "]";
}

void require(bool holds, const char* out, const std::string& what) {
  if (!holds) throw Error(Code::kInternal, std::string("reference of ") + out + ": " + what);
}

Strided broadcast_view(const Shape& shape, const Shape& extents) {
  Strided view;
  view.axes = static_cast<int>(extents.size());
  int64_t stride = 1;
  for (size_t back = 0; back < extents.size(); ++back) {
    const size_t d = extents.size() - 1 - back;
    const int64_t own = back < shape.size() ? shape[shape.size() - 1 - back] : 1;
    view.extent[d] = extents[d];
    view.stride[d] = own == 1 ? 0 : stride;
    stride *= own;
  }
  return view;
}

Shape broadcast_shape(const char* out, const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape shape = longer;
  const size_t lead = longer.size() - shorter.size();
  for (size_t d = 0; d < shorter.size(); ++d) {
    int64_t& extent = shape[lead + d];
    require(extent == shorter[d] || extent == 1 || shorter[d] == 1, out,
            text(a) + " and " + text(b) + " do not broadcast");
    extent = extent == 1 ? shorter[d] : extent;
  }
  return shape;
}

}  // namespace hirgen::reference
