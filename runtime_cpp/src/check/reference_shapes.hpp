// Shapes of the reference's tensors, and their views.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "hirgen/reference.hpp"
#include "hirgen/tensor.hpp"

namespace hirgen::reference {

using Shape = Reference::Shape;

/// The position of calls that evaluate the reference, for messages.
constexpr const char* kEvaluation = "evaluate the reference";

/// Returns the product of the extents of axes from..to-1.
int64_t elements_between(const Shape& shape, size_t from, size_t to);

int64_t elements_of(const Shape& shape);

std::string text(const Shape& shape);

/// Throws Error(kInternal) unless `holds`: hirgen has checked the operands, so a mismatch is a bug.
void require(bool holds, const char* out, const std::string& what);

/// Returns the view of a row-major tensor of `shape`, broadcast to `extents` as in NumPy: the last
/// axes correspond, and axes of one element have stride 0.
Strided broadcast_view(const Shape& shape, const Shape& extents);

/// Returns the shape to which two operands broadcast; throws Error(kInternal) if they do not.
Shape broadcast_shape(const char* out, const Shape& a, const Shape& b);

}  // namespace hirgen::reference
