package effects

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// Output says whether an output of the spec has the same bits on every run, and if not, Why (see Varies).
// docs/design/determinism.md lists what two such runs have in common.
type Output struct {
	Tensor string     // the name in the spec
	By     calls.Stmt // a statement that may change its bits from run to run; nil: the bits are always the same
	Why    string
}

// Outputs lists the outputs of a program. Memory has the same bits on every run if each statement that writes to it
// gives the same bits for the same operands (see Varies), and reads only such memory. All ranks run the same program,
// so the analysis treats a buffer as one memory for all ranks. It treats a Share as another name of its memory.
func Outputs(p *calls.Program) (list []Output) {
	t, readers, first := New(p), map[string][]string{}, map[string]Output{}
	for _, s := range p.Shares {
		readers[s.Name], readers[s.Memory] = []string{s.Memory}, append(readers[s.Memory], s.Name)
	}
	var causes []Output
	for s := range calls.All(p.Body) {
		in, out := t.names(s)
		for _, from := range in {
			readers[from] = append(readers[from], out...)
		}
		if why := t.Varies(s); why != "" {
			causes = append(causes, lists.Map(out, func(name string) Output { return Output{name, s, why} })...)
		}
	}
	for _, cause := range causes {
		for reached := []string{cause.Tensor}; len(reached) > 0; reached = reached[1:] {
			if name := reached[0]; first[name].By == nil && name != "" {
				first[name] = cause
				reached = append(reached, readers[name]...)
			}
		}
	}
	for _, a := range p.Arguments {
		if a.Output {
			list = append(list, Output{a.Tensor, first[a.Name].By, first[a.Name].Why})
		}
	}
	return list
}

// names lists the names of the memory that a statement reads and writes. A declared pointer is another name for memory,
// so a Declare connects both names in both directions. A send writes to the name of its team, and a receive reads it,
// because any rank of the team may receive the data. In the same way, a PeerPart writes to the name of its PeerSum or,
// with Store, reads it.
func (t *Table) names(s calls.Stmt) (in, out []string) {
	switch s := s.(type) {
	case *calls.Declare:
		in = []string{s.Name, s.Value.Base, s.Else.Base}
		return in, in
	case *calls.NcclCall:
		return []string{cmp.Or(s.In.Base, s.Team)}, []string{cmp.Or(s.Out.Base, s.Team)}
	case *calls.PeerPart:
		if s.Store {
			return []string{s.Sum}, []string{s.At.Base}
		}
		return []string{s.At.Base}, []string{s.Sum}
	case *calls.PeerSum:
		in, out = []string{s.Name}, []string{s.Name}
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

// Varies returns the reason why the result of a statement may have other bits on another run, although its operands
// have the same bits. It returns an empty string if the bits are the same. Copies keep bits, and the kernels of hirgen
// add in a fixed order, without atomic additions. cuBLASLt promises the same bits if the algorithm is the same and no
// two calls share a workspace. An NCCL reduction over two ranks has the same bits, because a + b equals b + a.
func (t *Table) Varies(s calls.Stmt) string {
	switch s := s.(type) {
	case *calls.NcclCall:
		if !domain.FoldOf(s.Fn).OrderMatters() || s.Type.IsInteger() {
			return ""
		}
		team := calls.ByName(t.program.Teams)[s.Team]
		if ranks := t.ranks(team); ranks > 2 {
			return fmt.Sprintf("%s chooses the order in which it adds the parts of %d ranks", team.Library(), ranks)
		}
	case *calls.Attend:
		if s.GradO.Base != "" && t.byCudnn(t.attentions[s.Attention]) {
			return "cuDNN's gradient of attention adds in no fixed order"
		}
	}
	return ""
}

// ranks returns the number of ranks of a team.
func (t *Table) ranks(team *calls.Team) int64 {
	mesh := t.program.MeshNamed(team.Mesh)
	if n, ok := t.values.Eval(mesh.Extents[team.Axis]); ok && !team.Whole {
		return n
	}
	return int64(len(t.program.Members(mesh)))
}

// byCudnn reports whether cuDNN may compute an attention on at least one rank.
func (t *Table) byCudnn(d *calls.Attention) bool {
	a, _ := domain.AttentionOf(d.Fn)
	return slices.ContainsFunc(t.program.Ranks(), func(rank int64) bool {
		return t.program.AttentionShape(d, rank).CudnnObstacle(d.Type, a.Causal) == ""
	})
}
