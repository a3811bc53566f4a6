package hostir

import (
	"slices"
	"strings"
	"unicode"

	"github.com/hirgen/hirgen/model/domain"
)

// Ranks lists the world ranks that run a statement of a lowered program, in ascending
// order: those of its mesh. Any other rank does nothing there, and has no buffer of the
// tensors. A SendRecv is run by the ranks of both sides; a statement of no mesh, such
// as one that orders streams, by all: nil.
func Ranks(s Stmt) []int {
	switch s := s.(type) {
	case *Communication:
		if s.Type == SendRecv {
			return union(s.In.Mesh, s.Out.Mesh)
		}
		return union(s.Mesh)
	case *Allocate:
		return union(s.Tensor.Mesh)
	case *Deallocate:
		return union(s.Tensor.Mesh)
	case *P2PCommunication:
		return union(s.Buffer.Mesh)
	default:
		if out := Result(s); out != nil {
			return union(out.Mesh)
		}
		return nil
	}
}

// HasSingleRanks reports whether a mesh has an axis of one rank that would have more with other parameters. Along it
// nothing moves, and what a spec chooses of what would is no mistake.
func HasSingleRanks(p *Program) bool {
	single := func(a domain.MeshAxis) bool {
		return a.Extent.Size == 1 && strings.ContainsFunc(a.Extent.Text, unicode.IsLetter)
	}
	return slices.ContainsFunc(p.Meshes, func(m *domain.Mesh) bool { return slices.ContainsFunc(m.Axes, single) })
}

// union is the ranks of several meshes; nil when one of them is not given.
func union(meshes ...*domain.Mesh) []int {
	var ranks []int
	for _, m := range meshes {
		if m == nil {
			return nil
		}
		ranks = append(ranks, m.Ranks...)
	}
	slices.Sort(ranks)
	return slices.Compact(ranks)
}

// Team lists the world ranks that rank meets in a Communication, in the order of the
// team; nil when rank is in none. Without a mesh axis the team is the whole mesh. It is
// not for a SendRecv, whose ranks meet in pairs.
func (c *Communication) Team(rank int) []int {
	if c.MeshAxis != "" {
		return c.Mesh.Team(rank, c.MeshAxis)
	}
	if slices.Contains(c.Mesh.Ranks, rank) {
		return c.Mesh.Ranks
	}
	return nil
}

// TeamSize is the number of ranks of each team.
func (c *Communication) TeamSize() int64 {
	if axis := c.Mesh.Axis(c.MeshAxis); axis != nil {
		return axis.Extent.Size
	}
	return int64(c.Mesh.Size())
}

// Joins reports whether a rank shares its memory with another one.
func (s *ShareMemHandles) Joins(rank, other int) bool {
	if s.Mesh == nil {
		return true
	}
	return s.Mesh.Coordinate(other, s.MeshAxis) >= 0 && !slices.ContainsFunc(s.Mesh.Axes, func(a domain.MeshAxis) bool {
		return a.Name != s.MeshAxis && s.Mesh.Coordinate(rank, a.Name) != s.Mesh.Coordinate(other, a.Name)
	})
}

// MayMove reports whether a statement may move data between ranks.
func MayMove(s Stmt) bool {
	switch s := s.(type) {
	case *Set:
		return true
	case *Reduce:
		return SplitOver(s.In.Axes[s.Axis]) != ""
	default:
		return false
	}
}
