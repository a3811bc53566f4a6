// Small text helpers for several parts of the runtime.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hirgen {

/// The parts of `text` between occurrences of `separator`; "" has one empty part.
std::vector<std::string> split_text(const std::string& text, char separator);

/// A decimal integer with an optional minus sign; nothing for other text, or if it does not fit.
std::optional<int64_t> parse_integer(const std::string& text);

/// A whole finite decimal number, or nothing.
std::optional<double> parse_number(const std::string& text);

/// "1, 3-5, 9": a set of ranks or indices, given in ascending order.
std::string list_ranges(const std::vector<int64_t>& values);

/// Splits a statement's label, "spec.yaml:12:5 gather: Allgather of A_s", into position and text.
/// The position is empty if the label does not begin with one.
struct Label {
  std::string_view position;
  std::string_view text;
};
Label split_label(std::string_view label);

/// Seconds for readers: "5 s", "0.25 s", "20 ms".
std::string seconds_text(double seconds);

/// FNV-1a: a stable hash, the same in every process.
uint64_t stable_hash(const std::string& text);

/// printf to a string.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

}  // namespace hirgen
