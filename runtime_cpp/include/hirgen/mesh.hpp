// A mesh: ranks in a row-major grid. The ranks that differ only in their coordinate along one axis
// are a team.
#pragma once

#include <cstdint>
#include <vector>

namespace hirgen {

/// A grid of some or all ranks of a program. Immutable.
class Mesh {
 public:
  /// A grid with these extents, filled with `ranks` in their order, or with ranks 0, 1, 2, ... if
  /// `ranks` is empty.
  explicit Mesh(std::vector<int64_t> extents, std::vector<int> ranks = {});

  /// All ranks of the mesh, in the row-major order of the grid.
  const std::vector<int>& ranks() const { return ranks_; }
  bool holds(int rank) const { return position(rank) >= 0; }
  /// Returns the coordinate of `rank` along `axis`, from 0; 0 if `rank` is not in the mesh.
  int coordinate(int rank, int axis) const;
  /// Returns the ranks that differ from `rank` at most in their coordinate along `axis`, in the
  /// order of that coordinate; empty if `rank` is not in the mesh.
  std::vector<int> team(int rank, int axis) const;
  /// Returns the rank of team(rank, axis) whose coordinate along `axis` is `coordinate_there`; -1
  /// if `rank` is not in the mesh.
  int rank_along(int rank, int axis, int64_t coordinate_there) const;
  /// Returns ranks(); empty if `rank` is not in the mesh.
  std::vector<int> team(int rank) const;
  /// Returns the rank of `other` at the row-major position that `rank` has in this mesh; -1 if
  /// `rank` is not in this mesh, or `other` has too few ranks.
  int counterpart(int rank, const Mesh& other) const;

 private:
  /// Returns the row-major position of `rank` in the grid; -1 if `rank` is not in the mesh.
  int64_t position(int rank) const;
  /// Returns the difference of the row-major positions of adjacent ranks along `axis`.
  int64_t step(int axis) const;

  std::vector<int64_t> extents_;
  std::vector<int> ranks_;
};

}  // namespace hirgen
