package hostir

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/domain"
)

// The placements of a tensor along a mesh axis. A number from 0 on is a placement too: the ranks split the tensor along
// the axis with that index.
const (
	Whole   = -1 // each rank has all elements
	Partial = -2 // each rank has a partial sum of all elements, or an operand of another reduction
	Split   = -3 // each rank has a block of an axis whose index in the spec is not known
)

// Need is the reason for a communication: a tensor of the spec has one placement, and an operation needs, or the spec
// states, another one.
type Need struct {
	Tensor   string // the tensor that moves, or the result of a reduction
	Axis     string // name of the mesh axis; empty if the tensor moves to another mesh
	Fn       string // function of the reduction ("sum") if From is Partial; unused otherwise
	From, To int    // placements: Whole, Partial, Split, or the index of the split axis
	By       string // the operation that needs placement To, or the tensor to which the spec gives it
	Stated   bool   // By is a tensor, whose placement the spec states

	Mesh, ToMesh string // names of the meshes, if they differ; else empty
}

// Change identifies the communication that changes the placement of a tensor along a mesh axis.
type Change struct {
	Type         collective.Type
	Tensor, Axis string
}

// Change returns the communication of the need. Its Type is empty if the tensor moves to another mesh.
func (n *Need) Change() Change {
	c := Change{Tensor: n.Tensor, Axis: n.Axis}
	if n.Axis != "" {
		c.Type = collective.Form{FromRoot: n.From == Whole, Splits: n.To != Whole, Reduces: n.From == Partial}.Type()
	}
	return c
}

// String describes the need: "A is split over x along axis 0; matmul into C needs all of it".
func (n *Need) String() string {
	have, want := n.Tensor+" is whole", "all of it"
	switch {
	case n.Axis == "":
		have = n.Tensor + " is on mesh " + n.Mesh
	case n.From == Partial:
		have = fmt.Sprintf("each rank of %s has a part of the %s %s", n.Axis, n.Fn, n.Tensor)
	case n.From != Whole:
		have = n.Tensor + " is split over " + n.Axis + along(n.From)
	}
	switch {
	case n.Axis == "":
		want = "on mesh " + n.ToMesh
	case n.To == Whole && n.Stated:
		want = "whole"
	case n.To != Whole:
		want = "split over " + n.Axis + along(n.To)
		if n.To == Split && n.From != Whole && n.From != Partial {
			want = "split along another axis"
		}
	}
	if n.Stated {
		return have + "; " + n.By + " is to be " + want
	}
	if want != "all of it" {
		want = "it " + want
	}
	return have + "; " + n.By + " needs " + want
}

// along returns " along axis 2" for axis 2; empty for a negative number.
func along(axis int) string {
	if axis < 0 {
		return ""
	}
	return fmt.Sprintf(" along axis %d", axis)
}

// Spec finds the tensors and operations of the model that tensors and statements of a program come from.
type Spec struct {
	shapes map[string][]domain.Extent     // of tensors, by name; nil for the additional results of an operation
	made   map[diag.Pos]*domain.Operation // by position; nil if several have it
	makes  map[string]*domain.Operation   // by result
}

// SpecOf returns the spec of a program.
func SpecOf(p *Program) *Spec {
	s := &Spec{shapes: map[string][]domain.Extent{}, made: map[diag.Pos]*domain.Operation{}, makes: map[string]*domain.Operation{}}
	for _, t := range p.Tensors {
		if t.Role == Input || t.Role == Output {
			s.shapes[t.Name] = domain.Extents(t.Axes)
		}
	}
	for i, op := range p.Reference {
		for _, name := range op.Results() {
			s.shapes[name], s.makes[name] = nil, &p.Reference[i]
		}
		s.shapes[op.Out] = op.Shape
		if _, several := s.made[op.Pos]; several {
			s.made[op.Pos] = nil
		} else {
			s.made[op.Pos] = &p.Reference[i]
		}
	}
	return s
}

// Name returns the name of the tensor of the spec that t is, or is derived from, such as A for A_all. If there is none, it returns
// the result of the operation that the statement comes from, or else the name of t. The statement may be nil.
func (s *Spec) Name(of Stmt, t *Tensor) string {
	for name := t.Name; ; name = name[:strings.LastIndexByte(name, '_')] {
		if _, known := s.shapes[name]; known {
			return name
		}
		if !strings.Contains(name, "_") {
			break
		}
	}
	if of != nil && s.made[of.Meta().Pos] != nil {
		return s.made[of.Meta().Pos].Out
	}
	return t.Name
}

// Places reports whether the spec determines the placement of a tensor.
func (s *Spec) Places(t *Tensor) bool {
	_, known := s.shapes[t.Name]
	return t.Role == Output || known && !t.Inferred
}

// Axis returns the index in the spec of an axis of t: its position among the axes of t without reduced axes. The argument name
// is the name of the tensor in the spec. Axis returns Split if the tensor has other extents in the spec. It returns a negative
// axis unchanged.
func (s *Spec) Axis(name string, t *Tensor, axis int) int {
	if axis < 0 {
		return axis
	}
	if at := slices.Index(Live(t), axis); slices.EqualFunc(s.shapes[name], domain.Extents(t.Axes), sameSize) {
		return at
	}
	return Split
}

func sameSize(a, b domain.Extent) bool { return a.Size == b.Size }

// Makes returns the first result of the operation of the spec that a statement comes from. It is empty if no operation has the
// statement's position, or if several have it, as the operations of a composite do.
func (s *Spec) Makes(of Stmt) string {
	if op := s.made[of.Meta().Pos]; op != nil {
		return op.Out
	}
	return ""
}

// Operation names the operation of the spec that a statement comes from: "matmul into C". If the operation is not known, it uses the
// type of the statement.
func (s *Spec) Operation(of Stmt) string {
	op := s.operation(of)
	if op == nil {
		return strings.ToLower(Op(of)) + " into " + s.Name(of, Result(of))
	}
	kind := op.Kind
	if op.Fn != "" && !Is[*Attention](of) {
		kind, _, _ = strings.Cut(op.Fn, "(")
	}
	return kind + " into " + op.Out
}

// Written names the operation as the spec has it: "softmax into Y", where Operation names a part of it, such as "max into Y_max".
func (s *Spec) Written(of Stmt) string {
	if op := s.operation(of); op != nil {
		if out, call, whole := strings.Cut(op.Whole, " = "); whole {
			kind, _, _ := strings.Cut(call, "(")
			return kind + " into " + out
		}
	}
	return s.Operation(of)
}

// operation returns the operation of the spec that a statement comes from, by its position or by its result, or nil.
func (s *Spec) operation(of Stmt) *domain.Operation {
	if op := s.made[of.Meta().Pos]; op != nil {
		return op
	}
	return s.makes[s.Name(of, Result(of))]
}
