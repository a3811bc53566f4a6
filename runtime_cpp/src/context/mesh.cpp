#include "hirgen/mesh.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace hirgen {

Mesh::Mesh(std::vector<int64_t> extents, std::vector<int> ranks)
    : extents_(std::move(extents)), ranks_(std::move(ranks)) {
  if (!ranks_.empty()) return;
  int64_t size = 1;
  for (const int64_t extent : extents_) size *= extent;
  ranks_.resize(static_cast<size_t>(size));
  std::iota(ranks_.begin(), ranks_.end(), 0);
}

int64_t Mesh::position(int rank) const {
  const auto found = std::find(ranks_.begin(), ranks_.end(), rank);
  return found == ranks_.end() ? -1 : found - ranks_.begin();
}

int64_t Mesh::step(int axis) const {
  int64_t step = 1;
  for (size_t inner = static_cast<size_t>(axis) + 1; inner < extents_.size(); ++inner) {
    step *= extents_[inner];
  }
  return step;
}

int Mesh::coordinate(int rank, int axis) const {
  const int64_t at = position(rank);
  if (at < 0) return 0;
  return static_cast<int>(at / step(axis) % extents_[static_cast<size_t>(axis)]);
}

std::vector<int> Mesh::team(int rank, int axis) const {
  std::vector<int> team;
  const int64_t at = position(rank);
  if (at < 0) return team;
  const int64_t first = at - coordinate(rank, axis) * step(axis);
  for (int64_t i = 0; i < extents_[static_cast<size_t>(axis)]; ++i) {
    team.push_back(ranks_[static_cast<size_t>(first + i * step(axis))]);
  }
  return team;
}

int Mesh::rank_along(int rank, int axis, int64_t coordinate_there) const {
  const int64_t at = position(rank);
  if (at < 0) return -1;
  return ranks_[static_cast<size_t>(at + (coordinate_there - coordinate(rank, axis)) * step(axis))];
}

std::vector<int> Mesh::team(int rank) const { return holds(rank) ? ranks_ : std::vector<int>(); }

int Mesh::counterpart(int rank, const Mesh& other) const {
  const int64_t at = position(rank);
  if (at < 0 || at >= static_cast<int64_t>(other.ranks_.size())) return -1;
  return other.ranks_[static_cast<size_t>(at)];
}

}  // namespace hirgen
