#include "gemm/tune_offer.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "bootstrap/wire.hpp"

namespace hirgen {

namespace {

const GemmOffer* find_gemm(const Offer& offer, const std::string& gemm) {
  for (const GemmOffer& candidate : offer.gemms) {
    if (candidate.gemm == gemm) return &candidate;
  }
  return nullptr;
}

}  // namespace

bool GemmOffer::has(const cublasLtMatmulAlgo_t& algorithm) const {
  return std::any_of(algorithms.begin(), algorithms.end(),
                     [&](const auto& own) { return same_algorithm(own, algorithm); });
}

std::string encode(const Offer& offer) {
  Writer writer;
  writer.put(offer.library.gpu).put(offer.library.cublaslt).put(offer.gemms.size());
  for (const GemmOffer& gemm : offer.gemms) {
    writer.put(gemm.gemm).put(gemm.algorithms.size());
    for (const cublasLtMatmulAlgo_t& algorithm : gemm.algorithms) writer.put(algorithm);
  }
  return writer.bytes();
}

Offer decode_offer(const std::string& bytes) {
  Reader reader(bytes);
  Offer offer;
  offer.library.gpu = reader.get_text();
  offer.library.cublaslt = reader.get<int64_t>();
  for (auto gemms = reader.get<size_t>(); gemms > 0; --gemms) {
    GemmOffer& gemm = offer.gemms.emplace_back();
    gemm.gemm = reader.get_text();
    for (auto algorithms = reader.get<size_t>(); algorithms > 0; --algorithms) {
      gemm.algorithms.push_back(reader.get<cublasLtMatmulAlgo_t>());
    }
  }
  return offer;
}

std::vector<GemmOffer> common_offers(const std::vector<Offer>& offers, std::string* problem) {
  const Offer& first = offers.front();
  for (size_t rank = 1; rank < offers.size(); ++rank) {
    if (offers[rank].library == first.library) continue;
    *problem =
        format("nothing is tuned: rank %zu has %s and rank 0 has %s", rank,
               library_text(offers[rank].library).c_str(), library_text(first.library).c_str());
    return {};
  }
  std::vector<GemmOffer> common = first.gemms;
  for (const Offer& offer : offers) {
    std::erase_if(common, [&](GemmOffer& mine) {
      const GemmOffer* theirs = find_gemm(offer, mine.gemm);
      if (theirs == nullptr) return true;
      std::erase_if(mine.algorithms,
                    [&](const auto& algorithm) { return !theirs->has(algorithm); });
      return mine.algorithms.empty();
    });
  }
  return common;
}

}  // namespace hirgen
