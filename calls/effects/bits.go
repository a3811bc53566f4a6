package effects

import (
	"fmt"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/model/domain"
)

// Output says whether an output has the same bits on every run (docs/design/determinism.md lists what the runs have in common).
type Output struct {
	Tensor string     // of the spec
	By     calls.Stmt // the first statement that may change its bits; nil: it has the same bits
	Why    string
}

// Outputs lists the outputs of a program. Memory has the same bits if each statement that writes to it has the same bits on every run,
// and reads memory that has them. Ranks run the same program, so the memory of all ranks is one, and a Share is its memory.
func Outputs(p *calls.Program) (list []Output) {
	t, readers, changed := New(p), map[string][]string{}, map[string]Output{}
	flow := func(from, to string) { readers[from] = append(readers[from], to) }
	for _, s := range p.Shares {
		flow(s.Name, s.Memory)
		flow(s.Memory, s.Name)
	}
	var causes []Output
	sums := map[string]string{} // the result of each PeerSum
	for s := range calls.All(p.Body) {
		in, out := t.bases(s, sums)
		why := t.Varies(s)
		for _, to := range out {
			for _, from := range in {
				flow(from, to)
			}
			if why != "" {
				causes = append(causes, Output{to, s, why})
			}
		}
	}
	for _, cause := range causes {
		for reached := []string{cause.Tensor}; len(reached) > 0; reached = reached[1:] {
			if name := reached[0]; changed[name].By == nil && name != "" {
				changed[name] = cause
				reached = append(reached, readers[name]...)
			}
		}
	}
	for _, a := range p.Arguments {
		if a.Output {
			list = append(list, Output{a.Tensor, changed[a.Name].By, changed[a.Name].Why})
		}
	}
	return list
}

// bases lists the names of memory that a statement reads and writes. A pointer and what it points to are both.
func (t *Table) bases(s calls.Stmt, sums map[string]string) (in, out []string) {
	switch s := s.(type) {
	case *calls.Declare:
		all := []string{s.Name, s.Value.Base, s.Else.Base}
		return all, all
	case *calls.NcclCall:
		return []string{s.In.Base}, []string{s.Out.Base}
	case *calls.PeerSum:
		sums[s.Name] = s.Out.Base
	case *calls.PeerPart:
		if in, out = []string{s.At.Base}, []string{sums[s.Sum]}; s.Store {
			in, out = out, in
		}
		return in, out
	}
	operands, _ := t.Of(s)
	for _, o := range operands {
		if o.Write {
			out = append(out, o.At.Base)
		} else {
			in = append(in, o.At.Base)
		}
	}
	return in, out
}

// Varies returns the reason why the result of a statement may have other bits on another run, though its operands have the same bits;
// empty: it has the same bits. Copies move bits, and the kernels of hirgen add in a fixed order, without atomic additions. cuBLASLt
// promises the same bits if the algorithm is the same and no two calls share a workspace. NCCL adds two parts alike in either order.
func (t *Table) Varies(s calls.Stmt) string {
	switch s := s.(type) {
	case *calls.NcclCall:
		row := collective.Of(s.Kind)
		if row == nil || !row.Reduces || !domain.FoldOf(s.Fn).OrderMatters() || s.Type.IsInteger() {
			return ""
		}
		if team := calls.ByName(t.program.Teams)[s.Team]; team != nil {
			if ranks := t.ranks(team); ranks > 2 {
				return fmt.Sprintf("%s adds the parts of %d ranks in an order of its own", team.Library(), ranks)
			}
		}
	case *calls.Attend:
		if d := t.attentions[s.Attention]; d != nil && s.GradO.Base != "" && t.byCudnn(d) {
			return "cuDNN's gradient of attention adds in no fixed order"
		}
	}
	return ""
}

// ranks returns the number of ranks of a team.
func (t *Table) ranks(team *calls.Team) int64 {
	mesh := t.program.MeshNamed(team.Mesh)
	if team.Whole {
		return int64(len(t.program.Members(mesh)))
	}
	n, _ := t.values.Eval(mesh.Extents[team.Axis])
	return n
}

// byCudnn reports whether cuDNN may compute an attention on some rank.
func (t *Table) byCudnn(d *calls.Attention) bool {
	a, _ := domain.AttentionOf(d.Fn)
	for _, rank := range t.program.Ranks() {
		if t.program.AttentionShape(d, rank).CudnnObstacle(d.Type, a.Causal) == "" {
			return true
		}
	}
	return false
}
