#include "base/text.hpp"

#include <charconv>
#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace hirgen {

std::vector<std::string> split_text(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t start = 0;
  while (true) {
    const size_t end = text.find(separator, start);
    if (end == std::string::npos) break;
    parts.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  parts.push_back(text.substr(start));
  return parts;
}

std::optional<int64_t> parse_integer(const std::string& text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || text.empty()) return std::nullopt;
  return value;
}

std::optional<double> parse_number(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || text.empty() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

std::string list_ranges(const std::vector<int64_t>& values) {
  std::string text;
  for (size_t i = 0; i < values.size();) {
    size_t last = i;
    while (last + 1 < values.size() && values[last + 1] == values[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += std::to_string(values[i]);
    if (last > i) text += (last == i + 1 ? ", " : "-") + std::to_string(values[last]);
    i = last + 1;
  }
  return text;
}

namespace {

// Removes ":NUMBER" from the end of the text; returns false if the text does not end so.
bool drop_number(std::string_view* text) {
  const size_t last = text->find_last_not_of("0123456789");
  if (last == std::string_view::npos || last + 1 == text->size() || (*text)[last] != ':') {
    return false;
  }
  text->remove_suffix(text->size() - last);
  return true;
}

}  // namespace

Label split_label(std::string_view label) {
  // A position is FILE:LINE:COLUMN, and the name of the file may contain spaces.
  for (size_t space = label.find(' '); space != std::string_view::npos;
       space = label.find(' ', space + 1)) {
    std::string_view file = label.substr(0, space);
    if (drop_number(&file) && drop_number(&file)) {
      return {label.substr(0, space), label.substr(space + 1)};
    }
  }
  return {"", label};
}

std::string seconds_text(double seconds) {
  return seconds < 0.1 ? format("%.0f ms", seconds * 1e3) : format("%.3g s", seconds);
}

uint64_t stable_hash(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const unsigned char c : text) hash = (hash ^ c) * 0x100000001b3ULL;
  return hash;
}

std::string format(const char* pattern, ...) {
  va_list arguments;
  va_start(arguments, pattern);
  va_list again;
  va_copy(again, arguments);
  const int length = std::vsnprintf(nullptr, 0, pattern, arguments);
  va_end(arguments);
  std::string text(length > 0 ? static_cast<size_t>(length) : 0, '\0');
  if (length > 0) std::vsnprintf(text.data(), text.size() + 1, pattern, again);
  va_end(again);
  return text;
}

}  // namespace hirgen
