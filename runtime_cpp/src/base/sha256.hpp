// SHA-256 and HMAC-SHA-256 (FIPS 180-4, RFC 2104), with which ranks authenticate their messages
// when they connect. These are few, so the code is short rather than fast.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace hirgen {

using Digest = std::array<uint8_t, 32>;

/// The SHA-256 of these bytes.
Digest sha256(const std::string& bytes);

/// The HMAC-SHA-256 of these bytes under a key of any length.
Digest hmac_sha256(const std::string& key, const std::string& bytes);

/// Returns whether two digests are equal, in a time that does not depend on where they differ.
bool equal_in_constant_time(const Digest& a, const Digest& b);

}  // namespace hirgen
