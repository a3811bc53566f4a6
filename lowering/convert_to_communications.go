package lowering

import (
	"slices"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// ConvertToCommunications replaces what crosses ranks by a communication and the
// wait for it. Which one follows from the domains: the mesh axes that the operand
// gives up and those that the result takes on.
//
// Requires: a Set or Reduce does nothing but communicate, or is local; the axes that
// it gathers or scatters are outermost in their buffers.
// Establishes: every other statement is local to a rank.
//
//	before: A_all_s = Set(A_s)                   A_s [DIDx(D), m, K], A_all_s [D, m, K]
//	after:  gather = Communication(Allgather, mesh world axis x, in A_s, out A_all_s); Wait(gather)
func ConvertToCommunications(p *hostir.Program) error {
	c := &converter{names: newNamer(p)}
	p.Body = hostir.Rewrite(p.Body, func(s hostir.Stmt) []hostir.Stmt {
		if !reshards(s) {
			return []hostir.Stmt{s}
		}
		comm := c.communication(s)
		if comm == nil {
			return []hostir.Stmt{s}
		}
		return []hostir.Stmt{comm, &hostir.Wait{Info: info(s, ""), Handle: comm.Handle}}
	})
	return c.errors.Err()
}

type converter struct {
	names  *namer
	errors diag.List
}

// movement is what a statement does across ranks.
type movement struct {
	in, out *hostir.Tensor
	lost    []string // mesh axes that split the operand and not the result
	gained  []string // mesh axes that split the result and not the operand
	reduce  string   // the function of a Reduce
}

func describe(s hostir.Stmt) movement {
	m := movement{in: hostir.Uses(s)[0], out: hostir.Result(s)}
	if r, ok := s.(*hostir.Reduce); ok {
		m.reduce = r.Fn
		m.lost = append(m.lost, device(m.in.Axes[r.Axis]))
	}
	row := hostir.AxisMap(s)[0]
	for _, i := range crossing(m.in, m.out, row) {
		if d := device(m.in.Axes[i]); d != "" {
			m.lost = append(m.lost, d)
		}
		if d := device(m.out.Axes[row[i]]); d != "" {
			m.gained = append(m.gained, d)
		}
	}
	return m
}

// communication chooses the type; nil when there is none, which is reported.
func (c *converter) communication(s hostir.Stmt) *hostir.Communication {
	m := describe(s)
	kind, handle := m.kind()
	if kind == "" {
		c.errors.Add(s.Meta().Pos, diag.NoCommunication,
			"no communication takes %s %s to %s %s", m.in.Name, domain.FormatAxes(m.in.Axes),
			m.out.Name, domain.FormatAxes(m.out.Axes)).
			AddNote(m.in.Pos, "%s is declared here", m.in.Name).
			AddNote(m.out.Pos, "%s is declared here", m.out.Name).
			WithHint("change one split axis at a time, on one mesh")
		return nil
	}
	if !c.outermost(s, m) {
		return nil
	}
	return &hostir.Communication{
		Info:   hostir.Info{Pos: s.Meta().Pos, Note: s.Meta().Note},
		Handle: c.names.fresh(handle), Type: kind, Mesh: m.in.Mesh, MeshAxis: m.lost[0],
		ReduceFn: m.reduce, In: m.in, Out: m.out,
	}
}

// kind gives the communication's type and the name of its handle.
func (m movement) kind() (hostir.CommType, string) {
	one := m.in.Mesh != nil && sameMesh(m.in, m.out) && len(m.lost) == 1
	scatters := one && len(m.gained) == 1 && m.gained[0] == m.lost[0]
	switch {
	case one && m.reduce == "" && len(m.gained) == 0:
		return hostir.Allgather, "gather"
	case one && m.reduce != "" && len(m.gained) == 0:
		return hostir.Allreduce, "allreduce"
	case scatters && m.reduce != "":
		return hostir.ReduceScatter, "reduce_scatter"
	default:
		return "", ""
	}
}

// outermost checks that the slices a collective moves are whole pieces of memory:
// the gathered axis is the outermost of the result, the scattered one that of the
// operand.
func (c *converter) outermost(s hostir.Stmt, m movement) bool {
	row := hostir.AxisMap(s)[0]
	for i, j := range row {
		if j == hostir.Unmapped || agree(m.in.Axes[i], m.out.Axes[j]) {
			continue
		}
		whole, axis := m.out, j
		if device(m.in.Axes[i]) == "" {
			whole, axis = m.in, i
		}
		if outer := outside(whole, axis); outer >= 0 {
			c.errors.Add(s.Meta().Pos, diag.NotContiguous,
				"axis %d (%s) of %s moves between ranks but is not outermost in its buffer: axis %d (%s) lies outside of it",
				axis, whole.Axes[axis], whole.Name, outer, whole.Axes[outer]).
				AddNote(whole.Pos, "%s is declared here", whole.Name)
			return false
		}
	}
	return c.sameOrder(s, m, row)
}

// sameOrder checks that both buffers hold the axes that stay in the same order.
func (c *converter) sameOrder(s hostir.Stmt, m movement, row []int) bool {
	from, to := stayingOrder(m.in, m.out, row)
	if slices.Equal(from, to) {
		return true
	}
	c.errors.Add(s.Meta().Pos, diag.NotContiguous,
		"%s and %s lay out their axes in different orders: a communication moves memory as it lies",
		m.in.Name, m.out.Name)
	return false
}
