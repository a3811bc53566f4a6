#include "bootstrap/place.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace hirgen {

std::optional<Place> parse_place(const std::string& text) {
  // Colons without brackets are parts of an IPv6 address, unless there is just one.
  const bool bracketed = text.starts_with('[');
  const bool one_colon = std::count(text.begin(), text.end(), ':') == 1;
  size_t end = bracketed ? text.find(']') : one_colon ? text.find(':') : text.size();
  if (end == std::string::npos) return std::nullopt;
  Place place{text.substr(bracketed ? 1 : 0, end - (bracketed ? 1 : 0))};
  if (bracketed) ++end;
  if (place.host.empty() != text.empty()) return std::nullopt;
  if (place.host.find_first_of("[]") != std::string::npos) return std::nullopt;
  if (end == text.size()) return place;
  const auto port = parse_integer(text.substr(end + 1));
  if (text[end] != ':' || !port || *port < 1 || *port > kLastPort) return std::nullopt;
  place.port = static_cast<int>(*port);
  return place;
}

}  // namespace hirgen
