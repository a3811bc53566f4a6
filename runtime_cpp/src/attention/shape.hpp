// Checks attention shapes, and finds the keys that a query sees and the queries that see a key.
#pragma once

#include <cstdint>

#include "hirgen/attention.hpp"
#include "hirgen/host_device.hpp"

namespace hirgen {

/// Throws Error(kInternal) if the extents, the window or the start of the queries are invalid.
void check_shape(const AttentionShape& shape, const char* where);

/// Whether all rows of a tensor start and end at multiples of 16 bytes.
bool aligned_rows(const AttentionShape& shape, const AttentionStride& stride);

/// Rows [begin, end); empty if end <= begin.
struct RowRange {
  int64_t begin, end;
};

/// The keys that query row `row` sees.
HG_HOST_DEVICE inline RowRange keys_of(const AttentionShape& s, int64_t row) {
  if (!s.causal) return {0, s.key_rows};
  const int64_t end = s.query_start + row + 1;
  const int64_t begin = s.window > 0 && end > s.window ? end - s.window : 0;
  return {begin, end < s.key_rows ? end : s.key_rows};
}

/// The query rows that see key row `row`.
HG_HOST_DEVICE inline RowRange queries_of(const AttentionShape& s, int64_t row) {
  if (!s.causal) return {0, s.query_rows};
  const int64_t begin = row - s.query_start;
  const int64_t end = s.window > 0 ? begin + s.window : s.query_rows;
  return {begin > 0 ? begin : 0, end < s.query_rows ? end : s.query_rows};
}

}  // namespace hirgen
