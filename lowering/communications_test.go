package lowering

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
)

// movesOfOneOperation lists specs of one operation, each with the communications that its axes and meshes require:
// type, mesh and mesh axis of the team, and root.
var movesOfOneOperation = []struct{ name, mesh, tensors, op, want string }{
	{"allgather", "{x: 4}", "A: [DIDx, 3], B: [4, 3]", "set(A)", "Allgather world x"},
	{"split", "{x: 4}", "A: [4, 3], B: [DIDx, 3]", "set(A)", ""},
	{"all to all", "{x: 4}", "A: [DIDx, 4, 3], B: [4, DIDx, 3]", "set(A)", "AllToAll world x"},
	{"allreduce", "{x: 4}", "A: [DIDx, 3], B: [r(4), 3]", "sum(A, axis=0)", "Allreduce world x"},
	{"reduce scatter", "{x: 4}", "A: [DIDx, 4, 3], B: [r(4), DIDx, 3]", "sum(A, axis=0)", "ReduceScatter world x"},
	{"max", "{x: 4}", "A: [DIDx, 3], B: [3]", "max(A, axis=0)", "Allreduce world x"},
	{"min", "{x: 4}", "A: [DIDx, 4, 3], B: [DIDx, 3]", "min(A, axis=0)", "ReduceScatter world x"},
	{"prod", "{x: 4}", "A: [DIDx, 3], B: [3]", "prod(A, axis=0)", "Allreduce world x"},

	{"columns", "{x: 2, y: 4}", "A: [DIDx, DIDy, 3], B: [2, DIDy, 3]", "set(A)", "Allgather world x"},
	{"rows", "{x: 2, y: 4}", "A: [DIDx, DIDy, 3], B: [DIDx, 4, 3]", "set(A)", "Allgather world y"},
	{"rows replicated", "{x: 2, y: 4}", "A: [DIDy, 3], B: [4, 3]", "set(A)", "Allgather world y"},
	{"two axes", "{x: 2, y: 4}", "A: [DIDx, DIDy, 3], B: [2, 4, 3]", "set(A)", "Allgather world y, Allgather world x"},
	{"two axes split", "{x: 2, y: 4}", "A: [2, 4, 3], B: [DIDx, DIDy, 3]", "set(A)", ""},
	{"reduced and gathered", "{x: 2, y: 4}", "A: [DIDx, DIDy, 3], B: [r(2), 4, 3]", "sum(A, axis=0)", "Allreduce world x, Allgather world y"},
	{"reduced and scattered", "{x: 2, y: 4}", "A: [DIDx, 4, 3], B: [r(2), DIDy, 3]", "sum(A, axis=0)", "Allreduce world x"},
	{"split and gathered", "{x: 2, y: 4}", "A: [DIDx, 4, 3], B: [2, DIDy, 3]", "set(A)", "Allgather world x"},
	{"one leaves for the other", "{x: 2, y: 2}", "A: [DIDx, 2, 3], B: [DIDy, 2, 3]", "set(A)", "Allgather world x"},
	{"change of places", "{x: 2, y: 2}", "A: [DIDx, DIDy, 3], B: [DIDy, DIDx, 3]", "set(A)",
		"Allgather world y, AllToAll world x"},
	{"cube", "{x: 2, y: 2, z: 2}", "A: [DIDz, DIDx, DIDy, 3], B: [2, 2, 2, 3]", "set(A)",
		"Allgather world y, Allgather world x, Allgather world z"},
	{"cube reduced", "{x: 2, y: 2, z: 2}", "A: [DIDy, DIDx, 2, 3], B: [r(2), DIDx, DIDy, 3]", "sum(A, axis=0)", "ReduceScatter world y"},

	{"gather", "{x: 4}", "A: [DIDx, 3], B: {axes: [4, 3], mesh: one}", "set(A)", "Gather world x root 2"},
	{"gather to several", "{x: 4}", "A: [DIDx, 3], B: {axes: [4, 3], mesh: pair}", "set(A)", "Gather world x root 1, Broadcast pair x root 0"},
	{"gather elsewhere", "{x: 4}", "A: {axes: [DIDx, 3], mesh: pair}, B: {axes: [2, 3], mesh: one}", "set(A)",
		"Gather pair x root 0, Broadcast ranks_2_1 x root 1"},
	{"scatter from one", "{x: 4}", "A: {axes: [4, 3], mesh: one}, B: [DIDx, 3]", "set(A)", "Scatter world x root 2"},
	{"scatter elsewhere", "{x: 4}", "A: {axes: [2, 3], mesh: one}, B: {axes: [DIDx, 3], mesh: pair}", "set(A)",
		"Broadcast ranks_1_2 x root 1, Scatter pair x root 0"},
	{"broadcast", "{x: 4}", "A: {axes: [3], mesh: one}, B: [3]", "set(A)", "Broadcast world x root 2"},
	{"broadcast elsewhere", "{x: 4}", "A: {axes: [3], mesh: one}, B: {axes: [3], mesh: pair}", "set(A)", "Broadcast ranks_1_3_2 x root 2"},
	{"broadcast to a grid", "{x: 2, y: 2}", "A: {axes: [3], mesh: one}, B: [3]", "set(A)", "Broadcast world  root 2"},
	{"send and receive", "{x: 4}", "A: {axes: [DIDx, 3], mesh: pair}, B: {axes: [DIDx, 3], mesh: other}", "set(A)", "SendRecv pair "},
	{"send to itself", "{x: 4}", "A: {axes: [DIDx, 3], mesh: pair}, B: {axes: [DIDx, 3], mesh: late}", "set(A)", "SendRecv pair "},
	{"reduce", "{x: 4}", "A: [DIDx, 3], B: {axes: [r(4), 3], mesh: one}", "max(A, axis=0)", "Reduce world x root 2"},
	{"reduce elsewhere", "{x: 4}", "A: {axes: [DIDx, 3], mesh: pair}, B: {axes: [3], mesh: one}", "min(A, axis=0)",
		"Reduce pair x root 0, Broadcast ranks_2_1 x root 1"},
	{"reduce to several", "{x: 4}", "A: [DIDx, 3], B: {axes: [3], mesh: pair}", "prod(A, axis=0)",
		"Reduce world x root 1, Broadcast pair x root 0"},
	{"reduce and scatter elsewhere", "{x: 4}", "A: [DIDx, 2, 3], B: {axes: [DIDx, 3], mesh: pair}", "sum(A, axis=0)",
		"Allreduce world x, Scatter pair x root 0"},
	{"other axis elsewhere", "{x: 4}", "A: {axes: [DIDx, 2, 3], mesh: pair}, B: {axes: [2, DIDx, 3], mesh: other}", "set(A)",
		"Allgather pair x, Broadcast ranks_0_1 x root 1, Scatter other x root 0"},
	{"grid to row", "{x: 2, y: 2}", "A: [DIDx, DIDy, 3], B: {axes: [DIDx, 2, 3], mesh: pair}", "set(A)",
		"Allgather world y, Allgather world x, Scatter pair x root 0"},
	{"on a part of the ranks", "{x: 4}", "A: {axes: [DIDx, 3], mesh: pair}, B: {axes: [2, 3], mesh: pair}", "set(A)", "Allgather pair x"},

	{"inner axis", "{x: 4}", "A: [3, DIDx], B: [3, 4]", "set(A)", "Allgather world x"},
	{"inner axis split", "{x: 4}", "A: [3, 4], B: [3, DIDx]", "set(A)", ""},
	{"inner axis reduced", "{x: 4}", "A: [DIDx, 3, 4], B: [3, DIDx]", "sum(A, axis=0)", "ReduceScatter world x"},
	{"inner axes exchanged", "{x: 4}", "A: [3, DIDx, 4], B: [3, 4, DIDx]", "set(A)", "AllToAll world x"},
	{"split by a reshape", "{x: 4}", "A: [12], B: [DIDx, 3]", "reshape(A)", ""},
	{"merged by a reshape", "{x: 4}", "A: [DIDx, 3], B: [12]", "reshape(A)", "Allgather world x"},
	{"slices of an inner axis", "{x: 4}", "A: [DIDx, 3, 5], B: [4, 3, Stream(5)]", "set(A)", "Allgather world x"},
	{"scattered slices of an inner axis", "{x: 4}", "A: [DIDx, 4, 5], B: [DIDx, Stream(5)]", "sum(A, axis=0)", "ReduceScatter world x"},
}

// TestReferenceScatters checks that with preset: reference, rank 0 scatters a tensor that every rank has whole.
func TestReferenceScatters(t *testing.T) {
	p, err := model.Load("spec.yaml", []byte("hirgen: 1\nname: p\nmesh: {x: 4}\ntensors: {A: [3, 4], B: [3, DIDx]}\nops: [B = "+
		"set(A)]\nschedule: reference\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	followPasses(t, p, lowertest.NewOracle(t, p, 3))
	program, err := Host(p, Options{Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := communications(program); got != "Scatter world x root 0" {
		t.Errorf("communications %q", got)
	}
}

const subMeshes = `
meshes:
  one: {axes: {x: 1}, ranks: [2]}
  pair: {axes: {x: 2}, ranks: [1, 3]}
  other: {axes: {x: 2}, ranks: [0, 2]}
  late: {axes: {x: 2}, ranks: [0, 3]}
`

// TestCommunicationsFollowFromDomains checks the communications of each spec of movesOfOneOperation, and runs the
// program in the interpreter after every pass that changed it.
func TestCommunicationsFollowFromDomains(t *testing.T) {
	for _, m := range movesOfOneOperation {
		t.Run(m.name, func(t *testing.T) {
			source := "hirgen: 1\nname: p\nmesh: " + m.mesh + subMeshes + "tensors: {" + m.tensors + "}\nops:\n  - B = " + m.op + "\n"
			if strings.Contains(m.mesh, "x: 2, y: 4") || strings.Contains(m.mesh, "z:") {
				source = strings.Replace(source, subMeshes, "\n", 1)
			}
			p, err := model.Load("spec.yaml", []byte(source), nil)
			if err != nil {
				t.Fatal(err)
			}
			followPasses(t, p, lowertest.NewOracle(t, p, 3))
			program, err := Host(p, Options{Verify: true})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(m.want, communications(program)); diff != "" {
				t.Errorf("-want +got:\n%s\n%s", diff, text.Print(program))
			}
		})
	}
}

// communications lists the communications of a program in order.
func communications(p *hostir.Program) string {
	var list []string
	for c := range hostir.Each[*hostir.Communication](p.Body) {
		source := fmt.Sprintf("%s %s %s", c.Type, c.Mesh.Name, c.MeshAxis)
		if c.Root != nil {
			source += " root " + c.Root.String()
		}
		list = append(list, source)
	}
	return strings.Join(list, ", ")
}
