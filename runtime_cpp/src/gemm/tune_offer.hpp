// What each rank could multiply with, and what of it all ranks can: a search needs the ranks
// to time the same algorithms at the same time.
#pragma once

#include <string>
#include <vector>

#include "gemm/algorithm.hpp"

namespace hirgen {

/// A GEMM, and the algorithms that a rank has for it, best guess first.
struct GemmOffer {
  std::string gemm;
  std::vector<cublasLtMatmulAlgo_t> algorithms;

  bool has(const cublasLtMatmulAlgo_t& algorithm) const;
  /// Appends it unless it is there.
  void add(const cublasLtMatmulAlgo_t& algorithm) {
    if (!has(algorithm)) algorithms.push_back(algorithm);
  }
};

/// What one rank has, its GEMMs in the order of its program.
struct Offer {
  Library library;
  std::vector<GemmOffer> gemms;
};

/// An offer as bytes between ranks.
std::string encode(const Offer& offer);
Offer decode_offer(const std::string& bytes);

/// The GEMMs that every rank has, each with the algorithms that every rank has, in the
/// order of the first offer. Every rank that is given the same offers gets the same. None if
/// the ranks differ in GPU model or cuBLASLt: `problem` then says so.
std::vector<GemmOffer> common_offers(const std::vector<Offer>& offers, std::string* problem);

}  // namespace hirgen
