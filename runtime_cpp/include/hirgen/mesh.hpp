// A mesh: ranks in a grid of one to three axes, row-major. The ranks that differ in one coordinate
// only are the team of that axis.
#pragma once

#include <cstdint>
#include <vector>

namespace hirgen {

/// The ranks of a program in their grid. Immutable.
class Mesh {
 public:
  /// A grid with these extents over ranks 0, 1, 2, ..., or over `ranks` in their order.
  explicit Mesh(std::vector<int64_t> extents, std::vector<int> ranks = {});

  /// All ranks, in order.
  const std::vector<int>& ranks() const { return ranks_; }
  bool holds(int rank) const { return position(rank) >= 0; }
  /// The coordinate of `rank` along `axis`; 0 if it is not in the mesh.
  int coordinate(int rank, int axis) const;
  /// The ranks along `axis` that include `rank`, in order; empty if it is not in the mesh.
  std::vector<int> team(int rank, int axis) const;
  /// The rank at `coordinate_there` along `axis`, among those ranks; -1 if `rank` is not in the
  /// mesh.
  int rank_along(int rank, int axis, int64_t coordinate_there) const;
  /// All ranks, in order; empty if `rank` is not one of them.
  std::vector<int> team(int rank) const;
  /// The rank of `other` at the coordinates of `rank` in this mesh; -1 if there is none.
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
