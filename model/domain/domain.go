// Package domain is the vocabulary that the model, the host IR and the emitter share: element types, elementwise functions
// and their kernels, attention, dropout, axes with their kinds, and meshes of ranks.
package domain

import (
	"fmt"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/lists"
)

// MostCalls is the largest number of slices of a pipeline, and of calls of a loop. It bounds the time of the host, which
// issues each call, and of the proof, which examines each.
const MostCalls = 1 << 14

// Kind is the kind of an axis: how its iterations run.
type Kind int

// The kinds of axis.
const (
	// Serial iterations run inside one operation on one rank.
	Serial Kind = iota
	// Device iterations are split over a mesh axis: each rank holds one slice.
	Device
	// Stream iterations are the slices of a pipeline.
	Stream
	// Reduction iterations are folded into one element, by sum, max, min or prod: the axis is
	// in the logical domain of the result, not in its buffer.
	Reduction
	// Broadcast axes have one element, which operations use for any number of iterations.
	Broadcast
)

// Extent is the number of iterations of an axis: the value, and the text of its
// expression over parameters ("M/(S*D)"; empty when it is a plain number).
type Extent struct {
	Text string
	Size int64
}

// Expr returns the extent as an expression over parameters, or as a number if there is no expression.
func (e Extent) Expr() expr.Expr {
	if parsed, err := expr.Parse(e.Text); err == nil {
		return parsed
	}
	return expr.Int(e.Size)
}

// String prints the expression, or the number if there is no expression.
func (e Extent) String() string {
	if e.Text != "" {
		return e.Text
	}
	return fmt.Sprint(e.Size)
}

// Over returns the extent of each part if the axis is divided into equal parts. The size must be a multiple of parts.
func (e Extent) Over(parts Extent) Extent {
	size, text := e.Size/parts.Size, expr.Fold(&expr.Binary{Op: "/", X: e.Expr(), Y: parts.Expr()})
	if _, number := text.(expr.Int); number {
		return Extent{Size: size}
	}
	return Extent{Text: expr.Compact(text), Size: size}
}

// Axis is one logical axis of a tensor.
type Axis struct {
	Kind Kind
	Mesh string // the mesh axis of a Device axis: "x", "y" or "z"; empty for other kinds
	Extent
}

// Stretched returns an axis of one element that broadcasts to any extent.
func Stretched() Axis { return Axis{Kind: Broadcast, Extent: Extent{Size: 1}} }

// Place changes the kind of an axis. mesh is the mesh axis of a Device axis, and empty for other kinds.
func (a *Axis) Place(kind Kind, mesh string) { a.Kind, a.Mesh = kind, mesh }

// Alike reports whether two axes have the same kind and mesh axis.
func (a Axis) Alike(b Axis) bool { return a.Kind == b.Kind && a.Mesh == b.Mesh }

// String prints an axis as a spec spells it: "DIDx(D)", "Stream(S)", "r(K)", "b(1)", "M".
func (a Axis) String() string {
	switch a.Kind {
	case Device:
		return "DID" + a.Mesh + "(" + a.Extent.String() + ")"
	case Stream:
		return "Stream(" + a.Extent.String() + ")"
	case Reduction:
		return "r(" + a.Extent.String() + ")"
	case Broadcast:
		return "b(" + a.Extent.String() + ")"
	default:
		return a.Extent.String()
	}
}

// LocalSize returns the number of elements of the axis in one rank's buffer.
func (a Axis) LocalSize() int64 {
	switch a.Kind {
	case Device, Reduction, Broadcast:
		return 1
	default:
		return a.Size
	}
}

// FormatAxes prints the axes of a tensor: "[S, DIDx(D), M/(S*D), K]".
func FormatAxes(axes []Axis) string {
	return "[" + lists.Join(axes, func(a Axis) string { return a.String() }) + "]"
}

// MeshAxis is one dimension of a mesh.
type MeshAxis struct {
	Name string // "x", "y" or "z"
	Extent
}

// Mesh is an ordered set of ranks with one to three named axes, row-major: the
// last axis varies fastest.
type Mesh struct {
	Name  string
	Axes  []MeshAxis
	Ranks []int // world ranks, row-major over the axes; their number is the product of the extents
}

// Size returns the number of ranks.
func (m *Mesh) Size() int { return len(m.Ranks) }

// Axis returns the named axis, or nil.
func (m *Mesh) Axis(name string) *MeshAxis {
	for i := range m.Axes {
		if m.Axes[i].Name == name {
			return &m.Axes[i]
		}
	}
	return nil
}

// Same reports whether two meshes have the same axes, and the same ranks in the same order. Their names may differ.
func (m *Mesh) Same(o *Mesh) bool {
	if m == o {
		return true
	}
	if m == nil || o == nil || len(m.Axes) != len(o.Axes) || len(m.Ranks) != len(o.Ranks) {
		return false
	}
	for i, a := range m.Axes {
		if a.Name != o.Axes[i].Name || a.Size != o.Axes[i].Size {
			return false
		}
	}
	for i, r := range m.Ranks {
		if r != o.Ranks[i] {
			return false
		}
	}
	return true
}

// Coordinate returns the coordinate of a world rank along a mesh axis, from 0. It is -1 if the mesh has no such rank or
// axis.
func (m *Mesh) Coordinate(rank int, axis string) int {
	index := -1
	for i, r := range m.Ranks {
		if r == rank {
			index = i
		}
	}
	if index < 0 {
		return -1
	}
	for i := len(m.Axes) - 1; i >= 0; i-- {
		size := int(m.Axes[i].Size)
		if m.Axes[i].Name == axis {
			return index % size
		}
		index /= size
	}
	return -1
}

// Team returns the world ranks that share all coordinates of rank except the one along axis, in the order of the mesh.
// They take part in a communication along that axis. It is empty if the mesh has no such rank or axis.
func (m *Mesh) Team(rank int, axis string) []int {
	var team []int
	for _, other := range m.Ranks {
		same := m.Coordinate(rank, axis) >= 0
		for _, a := range m.Axes {
			if a.Name != axis && m.Coordinate(other, a.Name) != m.Coordinate(rank, a.Name) {
				same = false
			}
		}
		if same {
			team = append(team, other)
		}
	}
	return team
}
