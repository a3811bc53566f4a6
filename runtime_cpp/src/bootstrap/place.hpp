// Parses the address at which rank 0 listens, as users write it.
#pragma once

#include <optional>
#include <string>

namespace hirgen {

/// The largest number of a TCP port.
constexpr int kLastPort = 65535;

/// A host and an optional port.
struct Place {
  std::string host;  ///< a name or an address, without brackets
  int port = 0;      ///< 0: none is given
};

/// Reads a host and an optional port: "node0", "node0:4000", "::1", "[::1]", "[::1]:4000", or ""
/// for no host. Returns nullopt for a port without a host, for brackets that do not match, and for
/// a port that is not a number in range.
std::optional<Place> parse_place(const std::string& text);

}  // namespace hirgen
