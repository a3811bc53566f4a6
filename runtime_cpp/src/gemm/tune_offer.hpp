// The algorithms that each rank offers for its GEMMs, and the algorithms that all ranks offer: in a
// search, the ranks time the same algorithms at the same time.
#pragma once

#include <string>
#include <vector>

#include "gemm/algorithm.hpp"

namespace hirgen {

/// A GEMM, and the algorithms that a rank has for it, best guess first.
struct GemmOffer {
  std::string gemm;
  std::vector<GemmAlgorithm> algorithms;

  bool has(const GemmAlgorithm& algorithm) const;
  /// Appends `algorithm` unless the offer contains it.
  void add(const GemmAlgorithm& algorithm) {
    if (!has(algorithm)) algorithms.push_back(algorithm);
  }
};

/// The offer of one rank, with its GEMMs in the order of its program.
struct Offer {
  std::vector<AlgorithmScope> scopes;  ///< scopes of the rank's libraries, preferred first
  std::vector<GemmOffer> gemms;
};

/// Encodes an offer as bytes, to send it to other ranks. decode_offer() is the inverse.
std::string encode(const Offer& offer);
Offer decode_offer(const std::string& bytes);

/// The GEMMs for which all ranks offer a common algorithm, each with all common algorithms, in the
/// order of the first offer. Depends only on `offers`, so all ranks get the same result. Empty if
/// the ranks differ in GPU model, libraries or versions; `*problem` is then the reason.
std::vector<GemmOffer> common_offers(const std::vector<Offer>& offers, std::string* problem);

}  // namespace hirgen
