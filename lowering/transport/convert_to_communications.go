package transport

import (
	"slices"

	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/shard"
	"github.com/hirgen/hirgen/model/domain"
)

// ConvertToCommunications replaces each transfer between ranks by a communication and a wait for the communication. The
// axes and meshes of the operand and the result determine the communication:
//
//	statement  split operand  split result        meshes   communication
//	Set        yes            no                  same     Allgather
//	Set        no             yes                 same     none: each rank has its part (preset: reference: Scatter by the first rank)
//	Set        yes            yes, another axis   same     AllToAll
//	Set        yes            no                  differ   Gather
//	Set        no             yes                 differ   Scatter
//	Set        no             no                  differ   Broadcast
//	Set        yes            yes, the same axes  differ   SendRecv
//	Reduce     yes            no                  same     Allreduce
//	Reduce     yes            yes                 same     ReduceScatter
//	Reduce     yes            no                  differ   Reduce
//
// Requires: each Set or Reduce is a single transfer between ranks, or local; the axes that it gathers or scatters are
// outermost in their buffers.
//
//	before: A_all_s = Set(A_s)                   A_s [DIDx(D), m, K], A_all_s [D, m, K]
//	after:  gather = Communication(Allgather, mesh world axis x, in A_s, out A_all_s); Wait(gather)
//
//	before: X_local = Set(X)                     X [D, m, K], X_local [DIDx(D), m, K]
//	after:  (nothing, with X_local = Select(X, axis 0, index rank, parts D))
func ConvertToCommunications(p *hostir.Program) error {
	c := &converter{program: p, names: hostir.NewNamer(p)}
	moves := hostir.Communications(p)
	p.Body = hostir.Rewrite(p.Body, func(s hostir.Stmt) []hostir.Stmt {
		switch {
		case !shard.Reshards(s):
			return []hostir.Stmt{s}
		case !shard.Moves(p, s):
			return c.ownPart(s)
		}
		comm := c.communication(s)
		if comm == nil {
			return []hostir.Stmt{s}
		}
		if name := moves(s); p.Choices.Names(name) {
			comm.Of = name
		}
		return []hostir.Stmt{comm, &hostir.Wait{Info: hostir.InfoFrom(s, ""), Handle: comm.Handle}}
	})
	p.Body = slices.DeleteFunc(p.Body, func(s hostir.Stmt) bool {
		a, allocates := s.(*hostir.Allocate)
		return allocates && a.Tensor.Role == hostir.View
	})
	return c.errors.Err()
}

type converter struct {
	program *hostir.Program
	names   *hostir.Namer
	errors  diag.List
}

// communication returns the communication that a resharding needs. If there is no such communication, or if its slices
// are not contiguous, it reports an error and returns nil.
func (c *converter) communication(s hostir.Stmt) *hostir.Communication {
	m := shard.Describe(s)
	comm := &hostir.Communication{
		Info: hostir.InfoFrom(s, s.Meta().Note), ReduceFn: m.Reduce, In: m.In, Out: m.Out,
	}
	switch {
	case m.In.Mesh == nil || m.Out.Mesh == nil:
	case m.In.Mesh.Same(m.Out.Mesh):
		within(m, comm)
	default:
		c.between(m, comm)
	}
	if comm.Type == "" {
		c.refuse(s, m)
		return nil
	}
	if !c.outermost(s, m) {
		return nil
	}
	comm.Handle = c.names.Fresh(comm.Type.Row().Handle)
	return comm
}

// within sets the fields of a communication on one mesh. The type stays empty if no communication fits.
func within(m shard.Movement, comm *hostir.Communication) {
	if len(m.Shifts) != 1 {
		return
	}
	sh := m.Shifts[0]
	comm.Mesh, comm.MeshAxis = m.In.Mesh, sh.Mesh
	form := collective.Form{FromRoot: !sh.Reduced && sh.From == shard.NoAxis, Splits: sh.To != shard.NoAxis, Reduces: sh.Reduced}
	if comm.Type = form.Type(); form.Rooted() {
		comm.Root = expr.Int(0)
	}
}

// between sets the fields of a communication between two meshes. The type stays empty if no communication fits.
func (c *converter) between(m shard.Movement, comm *hostir.Communication) {
	switch {
	case len(m.Shifts) == 0 && shard.IsSplit(m.In):
		if shard.SameAxes(m.In.Mesh, m.Out.Mesh) {
			comm.Type, comm.Mesh = collective.SendRecv, m.In.Mesh
		}
	case len(m.Shifts) == 0:
		c.broadcast(m, comm)
	case m.IsGather() && m.Out.Mesh.Size() == 1:
		comm.Type = collective.Form{ToRoot: true, Reduces: m.Reduce != ""}.Type()
		onTeam(comm, m.In.Mesh, m.Out.Mesh)
	case m.IsScatter():
		comm.Type = collective.Scatter
		onTeam(comm, m.Out.Mesh, m.In.Mesh)
	}
}

// onTeam sets the team and the root of a communication. The team has all ranks of a mesh with one axis. The root is the
// first rank of the other mesh that is also in the team. If there is no such rank, no communication is possible, and
// onTeam clears the type.
func onTeam(comm *hostir.Communication, team, other *domain.Mesh) {
	root, ok := shard.CommonRank(other, team)
	if !ok {
		comm.Type = ""
		return
	}
	comm.Mesh, comm.MeshAxis = team, team.Axes[0].Name
	comm.Root = expr.Int(slices.Index(team.Ranks, root))
}

// broadcast sets the team and the root of a Broadcast. The team is the result's mesh. The root is a rank of the team
// that has the operand, if there is one. Otherwise the first rank of the operand's mesh is added to the team, as its
// last rank.
func (c *converter) broadcast(m shard.Movement, comm *hostir.Communication) {
	comm.Type, comm.Mesh = collective.Broadcast, m.Out.Mesh
	root, ok := shard.CommonRank(m.In.Mesh, m.Out.Mesh)
	if !ok {
		root = m.In.Mesh.Ranks[0]
		comm.Mesh = shard.MeshOf(c.program, c.names, append(slices.Clone(m.Out.Mesh.Ranks), root))
	}
	if len(comm.Mesh.Axes) == 1 {
		comm.MeshAxis = comm.Mesh.Axes[0].Name
	}
	comm.Root = expr.Int(slices.Index(comm.Mesh.Ranks, root))
}

func (c *converter) refuse(s hostir.Stmt, m shard.Movement) {
	d := c.errors.Add(s.Meta().Pos, diag.NoCommunication, "no communication takes %s %s to %s %s",
		hostir.Called(c.program, s, m.In), domain.FormatAxes(m.In.Axes), hostir.Called(c.program, s, m.Out), domain.FormatAxes(m.Out.Axes))
	_ = hostir.NoteDeclared(d, c.program, s, m.In)
	hostir.NoteDeclared(d, c.program, s, m.Out).WithHint("change one split axis at a time, on one mesh")
}

// outermost checks that a collective moves contiguous slices: the gathered axis has to be outermost in the result, and
// the scattered axis in the operand. Both buffers need the other axes in the same order. If they do not fit, outermost
// reports an error and returns false.
func (c *converter) outermost(s hostir.Stmt, m shard.Movement) bool {
	for _, side := range []struct {
		whole *hostir.Tensor
		axis  int
	}{{m.Out, m.Gathered()}, {m.In, m.Scattered()}} {
		if side.axis < 0 {
			continue
		}
		if outer := hostir.Outside(side.whole, side.axis); outer >= 0 {
			d := c.errors.Add(s.Meta().Pos, diag.NotContiguous,
				"axis %d (%s) of %s moves between ranks but is not outermost in its buffer: axis %d (%s) lies outside of it",
				side.axis, side.whole.Axes[side.axis], hostir.Called(c.program, s, side.whole), outer, side.whole.Axes[outer])
			hostir.NoteDeclared(d, c.program, s, side.whole).
				WithHint("put that axis first, with permute where the others are needed in this order, or leave in the pass " +
					"make-reshardings-contiguous")
			return false
		}
	}
	from, to := shard.StayingOrder(m.In, m.Out, m.Row)
	if slices.Equal(from, to) {
		return true
	}
	c.errors.Add(s.Meta().Pos, diag.NotContiguous,
		"%s and %s lay out their axes in different orders: a communication moves memory as it lies",
		hostir.Called(c.program, s, m.In), hostir.Called(c.program, s, m.Out)).
		WithHint("reorder the axes with permute, in an operation of its own")
	return false
}
