// A mesh: ranks in a row-major grid of one to three axes. The ranks that differ only in their
// coordinate along one axis are a team.
#pragma once

#include <cstdint>
#include <vector>

namespace hirgen {

/// A mesh of ranks of a program. Immutable.
class Mesh {
 public:
  /// A grid with these extents, filled with `ranks` in their order, or with ranks 0, 1, 2, ... if
  /// `ranks` is empty.
  explicit Mesh(std::vector<int64_t> extents, std::vector<int> ranks = {});

  /// All ranks, in order.
  const std::vector<int>& ranks() const { return ranks_; }
  bool holds(int rank) const { return position(rank) >= 0; }
  /// The coordinate of `rank` along `axis`; 0 if it is not in the mesh.
  int coordinate(int rank, int axis) const;
  /// The ranks that differ from `rank` at most in their coordinate along `axis`, in order; empty if
  /// `rank` is not in the mesh.
  std::vector<int> team(int rank, int axis) const;
  /// The rank of team(rank, axis) with coordinate `coordinate_there`; -1 if `rank` is not in the
  /// mesh.
  int rank_along(int rank, int axis, int64_t coordinate_there) const;
  /// All ranks of the mesh, in order; empty if `rank` is not in the mesh.
  std::vector<int> team(int rank) const;
  /// The rank of `other` at the row-major position that `rank` has in this mesh; -1 if `rank` is
  /// not in this mesh, or `other` has too few ranks.
  int counterpart(int rank, const Mesh& other) const;

 private:
  /// Position of `rank` in the grid, row-major; -1 when it is not in the mesh.
  int64_t position(int rank) const;
  /// Distance in positions between adjacent ranks along `axis`.
  int64_t step(int axis) const;

  std::vector<int64_t> extents_;
  std::vector<int> ranks_;
};

}  // namespace hirgen
