// Describes shapes of attentions as text, and checks them.
#include "attention/shape.hpp"

#include "base/text.hpp"
#include "hirgen/error.hpp"

namespace hirgen {

std::string describe(const AttentionShape& s) {
  const auto tensor = [&](const char* name, int64_t heads, int64_t rows) {
    return format("%s[%ld, %ld, %ld, %ld]", name, static_cast<long>(s.batch),
                  static_cast<long>(heads), static_cast<long>(rows),
                  static_cast<long>(s.head_size));
  };
  std::string text =
      tensor("O", s.query_heads, s.query_rows) + " of " + tensor("K", s.key_heads, s.key_rows);
  if (s.causal) text += ", causal";
  if (s.query_start != 0) text += format(" from %ld", static_cast<long>(s.query_start));
  if (s.window != 0) text += format(", window %ld", static_cast<long>(s.window));
  return text + ", " + spelling(s.dtype);
}

void check_shape(const AttentionShape& s, const char* where) {
  const auto refuse = [&](const std::string& why) {
    throw Error(Code::kInternal, std::string(where) + ": attention " + describe(s) + ": " + why);
  };
  if (s.batch < 1 || s.query_rows < 1 || s.key_rows < 1) refuse("there are no rows");
  if (s.key_heads < 1 || s.query_heads < 1 || s.query_heads % s.key_heads != 0) {
    refuse("the heads of Q are no multiple of those of K");
  }
  if (s.head_size < 1) refuse("a head has no elements");
  if (s.head_size > kMostHeadSize) {
    refuse(format("a head has more than %ld elements", static_cast<long>(kMostHeadSize)));
  }
  if (s.query_start < 0 || s.window < 0) refuse("a position is negative");
  if (s.window != 0 && !s.causal) refuse("only causal attention has a window");
}

bool aligned_rows(const AttentionShape& s, const AttentionStride& stride) {
  const auto width = static_cast<int64_t>(16 / size_of(s.dtype));
  return stride.align % 16 == 0 &&
         (s.head_size | stride.batch | stride.head | stride.row) % width == 0;
}

}  // namespace hirgen
