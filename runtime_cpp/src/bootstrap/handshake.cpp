#include "bootstrap/handshake.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstring>

#include "bootstrap/wire.hpp"
#include "hirgen/error.hpp"

namespace hirgen {

namespace {

Digest proof(const std::string& secret, HandshakeTag tag, const Nonces& nonces,
             const std::string& text) {
  Writer writer;
  writer.put(tag).put(nonces.of_rank_zero).put(nonces.of_other);
  return hmac_sha256(secret, writer.bytes() + text);
}

}  // namespace

Digest random_nonce() {
  Digest nonce{};
  // A read of this few bytes is never partial once the system's random pool is initialised.
  while (getrandom(nonce.data(), nonce.size(), 0) != static_cast<ssize_t>(nonce.size())) {
    if (errno == EINTR) continue;
    throw Error(Code::kEnvironment,
                std::string("the system gives no random bytes: ") + std::strerror(errno));
  }
  return nonce;
}

std::string seal(const std::string& secret, HandshakeTag tag, const Nonces& nonces,
                 const std::string& text) {
  return Writer().put(proof(secret, tag, nonces, text)).bytes() + text;
}

std::optional<std::string> unseal(const std::string& secret, HandshakeTag tag, const Nonces& nonces,
                                  const std::string& payload) {
  Digest given{};
  if (payload.size() < given.size()) return std::nullopt;
  std::memcpy(given.data(), payload.data(), given.size());
  std::string text = payload.substr(given.size());
  if (!equal_in_constant_time(given, proof(secret, tag, nonces, text))) return std::nullopt;
  return text;
}

std::string seal_hello(const std::string& secret, HandshakeTag tag, const Nonces& nonces,
                       const std::string& text) {
  return Writer().put(nonces.of_other).bytes() + seal(secret, tag, nonces, text);
}

std::optional<std::string> unseal_hello(const std::string& secret, HandshakeTag tag, Nonces* nonces,
                                        const std::string& payload) {
  Digest& other = nonces->of_other;
  if (payload.size() < other.size()) return std::nullopt;
  std::memcpy(other.data(), payload.data(), other.size());
  return unseal(secret, tag, *nonces, payload.substr(other.size()));
}

}  // namespace hirgen
