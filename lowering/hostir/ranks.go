package hostir

import (
	"slices"
	"strings"
	"unicode"

	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/model/domain"
)

// Ranks lists the world ranks that run a statement of a lowered program, in ascending order. They are the ranks of one mesh: the mesh
// of a Communication, of the buffer that is transferred, allocated or freed, or else of the first result. Any other rank does
// nothing at the statement. The ranks of both sides run a SendRecv. All ranks run statements whose mesh is nil, and other
// statements, such as those that order streams; then the result is nil.
func Ranks(s Stmt) []int {
	switch s := s.(type) {
	case *Communication:
		if s.Type == collective.SendRecv {
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

// HasSingleRanks reports whether some mesh has an axis of one rank whose extent depends on parameters. Communications along it move
// nothing, so schedule choices for them are not errors.
func HasSingleRanks(p *Program) bool {
	single := func(a domain.MeshAxis) bool {
		return a.Size == 1 && strings.ContainsFunc(a.Text, unicode.IsLetter)
	}
	return slices.ContainsFunc(p.Meshes, func(m *domain.Mesh) bool { return slices.ContainsFunc(m.Axes, single) })
}

// union returns the ranks of several meshes in ascending order, without duplicates; nil if one of the meshes is nil.
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

// Team lists the world ranks of rank's team in a Communication, in the order of the team; nil if rank is in no team. Without a
// mesh axis the team is the whole mesh. Do not use it for a SendRecv, whose ranks meet in pairs.
func (c *Communication) Team(rank int) []int {
	if c.MeshAxis != "" {
		return c.Mesh.Team(rank, c.MeshAxis)
	}
	if slices.Contains(c.Mesh.Ranks, rank) {
		return c.Mesh.Ranks
	}
	return nil
}

// TeamSize returns the number of ranks of each team.
func (c *Communication) TeamSize() int64 {
	if axis := c.Mesh.Axis(c.MeshAxis); axis != nil {
		return axis.Size
	}
	return int64(c.Mesh.Size())
}

// Joins reports whether two ranks are in one team of this statement. If both are also on one node, they share memory.
func (s *ShareMemHandles) Joins(rank, other int) bool {
	if s.Mesh == nil {
		return true
	}
	both := s.Mesh.Coordinate(rank, s.MeshAxis) >= 0 && s.Mesh.Coordinate(other, s.MeshAxis) >= 0
	return both && !slices.ContainsFunc(s.Mesh.Axes, func(a domain.MeshAxis) bool {
		return a.Name != s.MeshAxis && s.Mesh.Coordinate(rank, a.Name) != s.Mesh.Coordinate(other, a.Name)
	})
}

// MayMove reports whether a statement may move data between ranks before convert-to-communications has run.
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
