// Small helpers that split, parse, format and hash texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hirgen {

/// Returns the parts of `text` between occurrences of `separator`; for "", one empty part.
std::vector<std::string> split_text(const std::string& text, char separator);

/// Parses the whole text as a decimal integer with an optional minus sign; nullopt if it is none or
/// does not fit.
std::optional<int64_t> parse_integer(const std::string& text);

/// Parses the whole text as a finite decimal number, such as -1.5e3; nullopt if it is none.
std::optional<double> parse_number(const std::string& text);

/// Formats ascending ranks or indices: "1, 3-5, 9". Two consecutive numbers are no range: "3, 4".
std::string list_ranges(const std::vector<int64_t>& values);

/// The parts of a statement's label: "spec.yaml:12:5" and "allgather of A". The position is empty
/// unless the label begins with a position and a space.
struct Label {
  std::string_view position;
  std::string_view text;
};
Label split_label(std::string_view label);

/// Formats seconds with at most 3 digits: "5 s", "0.25 s"; below 0.1 s as "20 ms".
std::string seconds_text(double seconds);

/// Returns the 64-bit FNV-1a hash of a text, the same in every process.
uint64_t stable_hash(const std::string& text);

/// Returns the text that sprintf() would write.
[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...);

}  // namespace hirgen
