package verify

import (
	"slices"

	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// communication checks a communication against the domains of its operands.
func (v *verifier) communication(s *hostir.Communication) {
	if s.MeshAxis != "" && s.Mesh.Axis(s.MeshAxis) == nil {
		v.breach(s, "communication", "mesh %s has no axis %q", s.Mesh.Name, s.MeshAxis)
		return
	}
	form := s.Type.Row()
	if form == nil {
		v.breach(s, "communication", "there is no communication of type %q", s.Type)
		return
	}
	needs := func(what string, needed, given bool) bool {
		if needed != given {
			v.breach(s, "communication", "%s %s a %s", s.Type, map[bool]string{true: "needs", false: "has no use for"}[needed], what)
		}
		return needed == given
	}
	switch {
	case !needs("reduction function", form.Reduces, s.ReduceFn != ""), !needs("root", form.Rooted(), s.Root != nil):
		return
	case s.In.DType != s.Out.DType:
		v.breach(s, "communication", "%s is %s and %s is %s", s.In.Name, s.In.DType, s.Out.Name, s.Out.DType)
		return
	}
	if v.elements(s) && v.places(s) {
		v.sides(s)
	}
}

// places checks that the mesh includes all ranks of the operand and of the result, except on a side that only the root
// needs. The two meshes of a SendRecv need only have the same number of ranks. A Broadcast must satisfy
// receivesEverywhere. places returns false after a breach.
func (v *verifier) places(s *hostir.Communication) bool {
	if s.In.Mesh == nil || s.Out.Mesh == nil {
		return true
	}
	within := func(m *domain.Mesh) bool {
		return !slices.ContainsFunc(m.Ranks, func(r int) bool { return !slices.Contains(s.Mesh.Ranks, r) })
	}
	form := s.Type.Row()
	ok := (form.FromRoot || within(s.In.Mesh)) && (form.ToRoot || within(s.Out.Mesh))
	switch s.Type {
	case collective.SendRecv:
		ok = s.In.Mesh.Size() == s.Out.Mesh.Size()
	case collective.Broadcast:
		ok = ok && receivesEverywhere(s)
	}
	if !ok {
		v.breach(s, "communication", "%s on mesh %s cannot take %s on mesh %s to %s on mesh %s",
			s.Type, s.Mesh.Name, s.In.Name, s.In.Mesh.Name, s.Out.Name, s.Out.Mesh.Name)
	}
	return ok
}

// receivesEverywhere reports whether all ranks of a Broadcast's mesh have its result. A root that is a number may lack the
// result and only send. If the root is another expression, every rank must have the result.
func receivesEverywhere(s *hostir.Communication) bool {
	root, fixed := s.Root.(expr.Int)
	for i, r := range s.Mesh.Ranks {
		isRoot := fixed && int(root) == i
		if !isRoot && !slices.Contains(s.Out.Mesh.Ranks, r) {
			return false
		}
	}
	return true
}

// elements checks that the numbers of elements of operand and result fit the type and team of a communication. It
// returns false after a breach.
func (v *verifier) elements(s *hostir.Communication) bool {
	in, out, team := hostir.LocalElements(s.In), hostir.LocalElements(s.Out), s.TeamSize()
	sent, received := s.Type.Row().Slices(team)
	ok := in*received == out*sent
	if !ok {
		v.breach(s, "communication", "%s over %d ranks cannot take %d elements of %s to %d of %s",
			s.Type, team, in, s.In.Name, out, s.Out.Name)
	}
	return ok
}

// sides checks that the operand and the result are split over the mesh axis as the type of the communication requires.
func (v *verifier) sides(s *hostir.Communication) {
	in, out := hostir.SplitAxis(s.In, s.MeshAxis) != hostir.Unmapped, hostir.SplitAxis(s.Out, s.MeshAxis) != hostir.Unmapped
	form := s.Type.Row()
	if form.Copies() {
		return // it may copy whole tensors, local shards, or a slice in each iteration
	}
	if in == form.FromRoot || out != form.Splits {
		v.breach(s, "communication", "%s along mesh axis %s cannot take %s %s to %s %s", s.Type, s.MeshAxis,
			s.In.Name, domain.FormatAxes(s.In.Axes), s.Out.Name, domain.FormatAxes(s.Out.Axes))
	}
}
