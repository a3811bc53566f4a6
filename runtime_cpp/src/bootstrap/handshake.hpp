// The messages on a new connection between rank 0 and another rank. Each side proves that it knows
// the job's secret; the secret itself is never sent. Every message is a Header and a payload:
//
//   rank 0  challenge   a random number for this connection
//   rank    hello       another random number, a proof, its identity
//   rank 0  welcome     a proof; or a refusal, and rank 0 closes the connection
//   rank 0  admission   a proof, whether the job starts; sent once all ranks came or time is up
//
// A proof is a keyed hash of the tag, both random numbers and the text after the proof. So a
// message from another connection, another step or the other side proves nothing. Without a secret
// the key is empty: the messages are the same, and prove only that they belong to this connection.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/sha256.hpp"

namespace hirgen {

/// Tags of the handshake's messages. The tag of a hello names one of the rank's two connections.
enum HandshakeTag : uint32_t {
  kHelloData = 1,
  kHelloControl = 2,
  kRefusal = 3,
  kChallenge = 4,
  kWelcome = 5,
  kAdmission = 6,
};

/// Why rank 0 refuses a connection.
enum class Refusal : uint32_t { kOtherSecret = 1, kOtherJob = 2 };

/// The longest payload of a handshake's message, in bytes.
constexpr uint64_t kHandshakeLimit = 64 << 10;

/// The random numbers of one connection.
struct Nonces {
  Digest of_rank_zero{};
  Digest of_other{};
};

/// Random bytes from the system. Throws Error(kEnvironment) if the system gives none.
Digest random_nonce();

/// The payload of a message: the proof of `text`, then `text`.
std::string seal(const std::string& secret, HandshakeTag tag, const Nonces& nonces,
                 const std::string& text);

/// The text of a sealed payload; nullopt if its proof is missing or wrong.
std::optional<std::string> unseal(const std::string& secret, HandshakeTag tag, const Nonces& nonces,
                                  const std::string& payload);

/// The payload of a hello: the sender's random number, then the sealed text.
std::string seal_hello(const std::string& secret, HandshakeTag tag, const Nonces& nonces,
                       const std::string& text);

/// The text of a hello on a connection whose challenge was nonces->of_rank_zero; nullopt if the
/// proof is missing or wrong. Sets nonces->of_other.
std::optional<std::string> unseal_hello(const std::string& secret, HandshakeTag tag, Nonces* nonces,
                                        const std::string& payload);

}  // namespace hirgen
