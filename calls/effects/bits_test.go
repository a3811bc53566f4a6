package effects_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/calls/text"
)

const sums = `calls p from "spec.yaml"
Param(name D, spec "D", value 3)
Mesh(name grid, label "grid", axes "x of D, y of 2", extents [D, 2])
Team(name x_, mesh grid, where "x")
Team(name y_, mesh grid, axis 1, where "y")
Team(name all_, mesh grid, whole, where "all")
Argument(name A, tensor "A", type bf16, used, elements 8)
Argument(name Y, tensor "Y", type bf16, output, used, elements 8)
Argument(name Z, tensor "Z", type bf16, output, used, elements 8)
Buffer(name B, type bf16, elements 8, where "B")
Share(name B_ipc, shape kB, memory B, tensor "B", elements 8, type bf16, transfers D, label kB)
Attention(name kBack, plan back_, layout kLayout, gradients kGradients, fn "full(1)", batch 1, query_heads 1, key_heads 1, query_rows 1, key_rows 1, size 8, q [8, 8, 8], k [8, 8, 8], v [8, 8, 8], o [8, 8, 8], grad_q [8, 8, 8], grad_k [8, 8, 8], grad_v [8, 8, 8], grad_o [8, 8, 8], type bf16, OFlabel kBack)

`

// TestOutputs compares the list of outputs whose bits may change from run to run. Each program writes some of the
// outputs Y and Z. With a deterministic attention, no bits of the attention programs change.
func TestOutputs(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"NcclCall(kind allreduce, in A, out Y, count 8, type bf16, fn sum, on caller, team x_) @2:1", "Y by 2:1"},
		{"NcclCall(kind allreduce, in A, out Y, count 8, type bf16, fn sum, on caller, team y_)", ""},
		{"NcclCall(kind allreduce, in A, out Y, count 8, type bf16, fn max, on caller, team x_)", ""},
		{"NcclCall(kind allreduce, in A, out Y, count 8, type int64, fn sum, on caller, team x_)", ""},
		{"NcclCall(kind allgather, in A, out Y, count 8, type bf16, on caller, team all_)", ""},
		{"NcclCall(kind reduce_scatter, in A, out B, count 8, type bf16, fn prod, on caller, team all_) @2:1\n" +
			"Memcpy(out Y, in B, elements 8, type bf16, on caller)\nMemcpy(out Z, in A, elements 8, type bf16, on caller)", "Y by 2:1"},
		{"For(var i, count 2):\n  Declare(name b, type bf16, value B + i)\n  Memcpy(out Y, in b, elements 1, type bf16, on caller)\n" +
			"  NcclCall(kind allreduce, in A, out B, count 8, type bf16, fn sum, on caller, team x_) @2:1", "Y by 2:1"},
		{"Memcpy(out B_ipc[1], in Y, elements 8, type bf16, on caller)\n" +
			"NcclCall(kind allreduce, in A, out Y, count 8, type bf16, fn sum, on caller, team x_) @2:1\n" +
			"PeerSum(name s, own A, out Z, elements 8, type bf16, on caller):\n" +
			"  PeerPart(sum s, at B_ipc[1], elements 8, share B_ipc, peer 1, transfer 1)", "Y by 2:1, Z by 2:1"},
		{"PeerSum(name s, own A, out Z, elements 8, type bf16, on caller):\n" +
			"  PeerPart(sum s, at B_ipc[1], elements 8, share B_ipc, peer 1, transfer 1)", ""},
		{"NcclCall(kind allreduce, in A, out B, count 8, type bf16, fn sum, on caller, team x_) @2:1\nNcclGroup(team y_, on caller):\n" +
			"  NcclCall(kind send, in B, count 8, type bf16, peer 1, grouped, team y_)\n" +
			"  NcclCall(kind recv, out Z, count 8, type bf16, peer 1, grouped, team y_)", "Z by 2:1"},
		{"Attend(attention kBack, q A, k A, v A, o A, logs A, grad_o A, grad_q Y, grad_k B, grad_v B, on caller) @2:1", "Y by 2:1"},
		{"Attend(attention kBack, q A, k A, v A, o Y, logs B, on caller)", ""},
	} {
		for _, of := range []string{"", "deterministic, "} {
			p, err := text.Parse("spec.yaml", strings.ReplaceAll(sums, "OF", of)+c.body+"\n")
			if err != nil {
				t.Fatal(err)
			}
			var list []string
			for _, o := range effects.Outputs(p) {
				if o.By != nil {
					list = append(list, fmt.Sprintf("%s by %d:%d", o.Tensor, o.By.Meta().Pos.Line, o.By.Meta().Pos.Col))
				}
			}
			want := c.want
			if of != "" && calls.Any(p.Body, func(s calls.Stmt) bool { _, ok := s.(*calls.Attend); return ok }) {
				want = ""
			}
			if diff := cmp.Diff(want, strings.Join(list, ", ")); diff != "" {
				t.Errorf("%s%s: other outputs (-want +got)\n%s", of, c.body, diff)
			}
		}
	}
}
