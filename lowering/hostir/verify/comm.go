package verify

import (
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// communication checks a communication against the domains of its operands.
func (v *verifier) communication(s *hostir.Communication) {
	if s.MeshAxis != "" && s.Mesh.Axis(s.MeshAxis) == nil {
		v.breach(s.Pos, "communication", "mesh %s has no axis %q", s.Mesh.Name, s.MeshAxis)
		return
	}
	reduces := s.Type == hostir.Reduction || s.Type == hostir.Allreduce || s.Type == hostir.ReduceScatter
	rooted := s.Type == hostir.Gather || s.Type == hostir.Scatter || s.Type == hostir.Reduction || s.Type == hostir.BroadcastComm
	switch {
	case reduces != (s.ReduceFn != ""):
		v.breach(s.Pos, "communication", "%s %s a reduction function", s.Type, map[bool]string{true: "needs", false: "has no use for"}[reduces])
		return
	case rooted != (s.Root != nil):
		v.breach(s.Pos, "communication", "%s %s a root", s.Type, map[bool]string{true: "needs", false: "has no use for"}[rooted])
		return
	case s.In.DType != s.Out.DType:
		v.breach(s.Pos, "communication", "%s is %s and %s is %s", s.In.Name, s.In.DType, s.Out.Name, s.Out.DType)
		return
	}
	if v.elements(s) && v.places(s) {
		v.sides(s)
	}
}

// places checks that the team includes all ranks that send or receive, and that a SendRecv has a rank at each position
// on both sides.
func (v *verifier) places(s *hostir.Communication) bool {
	if s.In.Mesh == nil || s.Out.Mesh == nil {
		return true
	}
	within := func(m *domain.Mesh) bool {
		return !slices.ContainsFunc(m.Ranks, func(r int) bool { return !slices.Contains(s.Mesh.Ranks, r) })
	}
	ok := true
	switch s.Type {
	case hostir.SendRecv:
		ok = s.In.Mesh.Size() == s.Out.Mesh.Size()
	case hostir.Allgather, hostir.Allreduce, hostir.ReduceScatter, hostir.AllToAll:
		ok = within(s.In.Mesh) && within(s.Out.Mesh)
	case hostir.Gather, hostir.Reduction:
		ok = within(s.In.Mesh)
	case hostir.Scatter:
		ok = within(s.Out.Mesh)
	case hostir.BroadcastComm:
		ok = within(s.Out.Mesh) && receivesEverywhere(s)
	}
	if !ok {
		v.breach(s.Pos, "communication", "%s on mesh %s cannot take %s on mesh %s to %s on mesh %s",
			s.Type, s.Mesh.Name, s.In.Name, s.In.Mesh.Name, s.Out.Name, s.Out.Mesh.Name)
	}
	return ok
}

// receivesEverywhere reports whether all ranks of a Broadcast's team have its result. A fixed root may lack the result
// and only send. If the root depends on the iteration, every rank must have it.
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

// elements checks the numbers of elements that a rank sends and receives.
func (v *verifier) elements(s *hostir.Communication) bool {
	in, out, team := hostir.LocalElements(s.In), hostir.LocalElements(s.Out), s.TeamSize()
	ok := in == out
	switch s.Type {
	case hostir.Allgather, hostir.Gather:
		ok = out == in*team
	case hostir.Scatter, hostir.ReduceScatter:
		ok = in == out*team
	case hostir.Reduction, hostir.Allreduce, hostir.BroadcastComm, hostir.SendRecv, hostir.AllToAll:
	}
	if !ok {
		v.breach(s.Pos, "communication", "%s over %d ranks cannot take %d elements of %s to %d of %s",
			s.Type, team, in, s.In.Name, out, s.Out.Name)
	}
	return ok
}

// sides checks which side is split over the mesh axis.
func (v *verifier) sides(s *hostir.Communication) {
	in, out := hostir.SplitAxis(s.In, s.MeshAxis) != hostir.Unmapped, hostir.SplitAxis(s.Out, s.MeshAxis) != hostir.Unmapped
	var wantIn, wantOut bool
	switch s.Type {
	case hostir.Allgather, hostir.Gather, hostir.Allreduce, hostir.Reduction:
		wantIn = true
	case hostir.Scatter:
		wantOut = true
	case hostir.ReduceScatter, hostir.AllToAll:
		wantIn, wantOut = true, true
	case hostir.BroadcastComm, hostir.SendRecv:
		return // of whole tensors, of local shards, or of a slice in each iteration
	}
	if in != wantIn || out != wantOut {
		v.breach(s.Pos, "communication", "%s along mesh axis %s cannot take %s %s to %s %s", s.Type, s.MeshAxis,
			s.In.Name, domain.FormatAxes(s.In.Axes), s.Out.Name, domain.FormatAxes(s.Out.Axes))
	}
}
