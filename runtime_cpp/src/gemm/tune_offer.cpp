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

bool GemmOffer::has(const GemmAlgorithm& algorithm) const {
  return std::find(algorithms.begin(), algorithms.end(), algorithm) != algorithms.end();
}

std::string encode(const Offer& offer) {
  Writer writer;
  writer.put(offer.scopes.size());
  for (const auto& [gpu, library, version] : offer.scopes) {
    writer.put(gpu).put(library).put(version);
  }
  writer.put(offer.gemms.size());
  for (const GemmOffer& gemm : offer.gemms) {
    writer.put(gemm.gemm).put(gemm.algorithms.size());
    for (const auto& [library, bytes] : gemm.algorithms) writer.put(library).put(bytes);
  }
  return writer.bytes();
}

Offer decode_offer(const std::string& bytes) {
  Reader reader(bytes);
  Offer offer;
  for (auto scopes = reader.get<size_t>(); scopes > 0; --scopes) {
    AlgorithmScope& scope = offer.scopes.emplace_back();
    scope.gpu = reader.get_text();
    scope.library = reader.get_text();
    scope.version = reader.get<int64_t>();
  }
  for (auto gemms = reader.get<size_t>(); gemms > 0; --gemms) {
    GemmOffer& gemm = offer.gemms.emplace_back();
    gemm.gemm = reader.get_text();
    for (auto algorithms = reader.get<size_t>(); algorithms > 0; --algorithms) {
      GemmAlgorithm& algorithm = gemm.algorithms.emplace_back();
      algorithm.library = reader.get_text();
      algorithm.bytes = reader.get_text();
    }
  }
  return offer;
}

std::vector<GemmOffer> common_offers(const std::vector<Offer>& offers, std::string* problem) {
  const Offer& first = offers.front();
  for (size_t rank = 1; rank < offers.size(); ++rank) {
    if (offers[rank].scopes == first.scopes) continue;
    *problem = format("nothing is tuned: rank %zu has %s and rank 0 has %s", rank,
                      scope_text(offers[rank].scopes).c_str(), scope_text(first.scopes).c_str());
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
