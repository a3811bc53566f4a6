package streams

import (
	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/shard"
)

// broadcast appends a step in which rank s of the team broadcasts its whole shard to slice s of the result.
//
//	before: A_all = Set(A)                      A [DIDx(D), m, K], A_all [Stream(D), m, K]
//
//	after:  A_all_s = Select(A_all, axis 0, index s)
//	        broadcast = Communication(Broadcast, mesh world axis x, root s, in A, out A_all_s); Wait(broadcast)
func (c *slicer) broadcast(st step) {
	s := st.stmt
	in, i := st.operand()
	c.communicate(s, &hostir.Communication{
		Type: collective.Broadcast, MeshAxis: in.Axes[i].Mesh, In: in, Out: c.slice(s, hostir.Result(s), st.loop, shard.NoAxis),
	})
}

// reduce appends a step in which the ranks of the team reduce slice s of the operand to rank s.
//
//	before: C = Reduce(sum, P, axis 0)          P [DIDx(D), Stream(D), m, N], C [r(D), DIDx(D), m, N]
//
//	after:  P_s = Select(P, axis 1, index s); C_s = Select(C, axis 1, index 0)
//	        reduce_to_root = Communication(Reduce, mesh world axis x, root s, reduce sum, in P_s, out C_s); Wait(reduce_to_root)
func (c *slicer) reduce(st step) {
	s := st.stmt
	in, i := st.operand()
	m := shard.Describe(s)
	c.communicate(s, &hostir.Communication{
		Type: collective.Reduce, MeshAxis: m.Shifts[0].Mesh, ReduceFn: m.Reduce,
		In: c.slice(s, in, i, shard.NoAxis), Out: c.slice(s, hostir.Result(s), st.loop, shard.NoAxis),
	})
}

// communicate appends a communication with rank s of the team as the root, and the wait for it.
func (c *slicer) communicate(s hostir.Stmt, comm *hostir.Communication) {
	comm.Info, comm.Mesh, comm.Root = *s.Meta(), comm.In.Mesh, expr.Var(c.lowering.loop)
	comm.Handle = c.lowering.names.Fresh(comm.Type.Row().Handle)
	c.body = append(c.body, comm, &hostir.Wait{Info: hostir.InfoFrom(s, ""), Handle: comm.Handle})
}
