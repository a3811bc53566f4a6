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
  std::vector<AlgorithmScope> scopes;  ///< of its libraries
  std::vector<GemmOffer> gemms;
};

/// An offer as bytes between ranks.
std::string encode(const Offer& offer);
Offer decode_offer(const std::string& bytes);

/// The GEMMs that every rank has, each with the algorithms that every rank offers, in the order of
/// the first offer. Equal offers give equal results on every rank. None if the ranks differ in GPU
/// model or libraries; `problem` is then the reason.
std::vector<GemmOffer> common_offers(const std::vector<Offer>& offers, std::string* problem);

}  // namespace hirgen
