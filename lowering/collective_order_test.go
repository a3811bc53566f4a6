package lowering

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/model/schedule"
)

// bodies lists the statements of one iteration of each collective pipeline with preset: reference, in order, but
// without the statements that set or synchronize streams at the start and end of the iteration. A Select precedes the
// communication or computation on a slice, and a Wait directly follows its communication.
var bodies = map[string]string{
	"allgather":          "Select Select Allgather Wait",
	"allreduce":          "Select Select Allreduce Wait",
	"reduce_scatter":     "Select Select ReduceScatter Wait",
	"ag_matmul":          "Select Select Allgather Wait Select Matmul",
	"ag_matmul_after":    "Select Select Matmul Select Allgather Wait",
	"ag_linear":          "Select Select Allgather Wait Select Linear",
	"matmul_ar":          "Select Select Matmul Select Allreduce Wait",
	"matmul_rs":          "Select Select Matmul Reshape Select ReduceScatter Wait",
	"matmul_rs_bcast":    "Select Select Matmul Select ReduceScatter Wait",
	"linear_ar":          "Select Permute Select Linear Select Allreduce Wait Select Binary",
	"linear_ar_backward": "Select Broadcast Select Matmul Permute Select Permute Select Matmul",
	"ag_matmul_bcast":    "Select Broadcast Wait Select Matmul",
	"matmul_rs_reduce":   "Select Select Select Matmul Select Reduce Wait",
	"matmul_rs_grad_a":   "Select Select Allgather Wait Reshape Select Matmul",
	"matmul_rs_grad_b":   "Select Select Allgather Wait Select Permute Reshape Select Matmul",
	"mlp_tp":             "Select Select Allgather Wait Reshape Select Linear Select Unary Select Linear Reshape Select ReduceScatter Wait",
	"swiglu_tp": "Select Select Allgather Wait Reshape Select Matmul Select Matmul Select Unary Select Binary Select Matmul Reshape " +
		"Select ReduceScatter Wait",
	"rs_norm_ag": "Select Select Matmul Reshape Select ReduceScatter Wait Select Cast Select Reduce Broadcast Select Unary Select Binary " +
		"Select Binary " +
		"Select Reduce Broadcast Select Unary Select Unary Select Unary Select Binary Select Binary Select Binary Select Cast Select Allgather " +
		"Wait Reshape Select Matmul",
	"moe_a2a": "Select Select AllToAll Wait Select Matmul Select Unary Select Matmul Select AllToAll Wait",
}

// TestStatementsOfCollectivePipelines checks the order of statements of each collective pipeline. Specs that are not in
// bodies have no pipeline, a point-to-point pipeline, or schedule: auto.
func TestStatementsOfCollectivePipelines(t *testing.T) {
	found := 0
	for _, s := range specTexts(t) {
		p := s.onMesh(t, "{x: D}", sizes(2, 8))
		if p.Schedule.Exchanges() || p.Schedule.Get(schedule.Preset) == schedule.Auto {
			continue
		}
		choose(&p.Schedule, "preset reference")
		t.Run(s.name, func(t *testing.T) {
			list := statements(t, p)
			checkWaits(t, list)
			forks := slices.Index(list, "For")
			want, listed := bodies[s.name]
			if !listed && forks >= 0 {
				t.Fatalf("the order of its statements is not held:\n%s", strings.Join(list, "\n"))
			}
			if !listed {
				return
			}
			found++
			if forks < 0 || len(list) < forks+4 {
				t.Fatalf("there is no pipeline in %v", list)
			}
			if diff := cmp.Diff([]string{"For", "  SetCurrentStream", "  Synchronize", "For"}, list[forks:forks+4]); diff != "" {
				t.Errorf("forks: -want +got:\n%s", diff)
			}
			if diff := cmp.Diff("SetCurrentStream "+want+" SetCurrentStream Synchronize", inner(list[forks+4:])); diff != "" {
				t.Errorf("work: -want +got:\n%s", diff)
			}
		})
	}
	if found != len(bodies) {
		t.Errorf("%d of %d specs are there", found, len(bodies))
	}
}

// checkWaits checks that a Wait directly follows every Communication.
func checkWaits(t *testing.T, list []string) {
	t.Helper()
	for i, line := range list {
		if strings.HasPrefix(strings.TrimSpace(line), "Communication") && (i+1 == len(list) || strings.TrimSpace(list[i+1]) != "Wait") {
			t.Errorf("statement %d, %s, is not waited for at once", i, line)
		}
	}
}

// inner joins the names of the indented statements at the start of list. For a Communication, it uses the type in place
// of the name.
func inner(list []string) string {
	var words []string
	for _, line := range list {
		fields := strings.Fields(line)
		if !strings.HasPrefix(line, "  ") {
			break
		}
		if fields[0] == "Communication" {
			fields = fields[1:]
		}
		words = append(words, fields[0])
	}
	return strings.Join(words, " ")
}

// TestStartOfCollectivePipelines checks that GetCurrentStream comes before the Allocate of the first buffer that a pass
// adds, or before the first pipeline if there is no such buffer.
func TestStartOfCollectivePipelines(t *testing.T) {
	starts := map[string]string{
		"allgather": "Allocate GetCurrentStream", "matmul_ar": "Allocate Allocate GetCurrentStream",
		"ag_matmul": "GetCurrentStream Allocate Allocate", "ag_matmul_after": "GetCurrentStream Allocate Allocate",
	}
	for _, s := range specTexts(t) {
		want, ok := starts[s.name]
		if !ok {
			continue
		}
		list := statements(t, s.onMesh(t, "{x: D}", sizes(2, 8)))
		if got := strings.Join(list[:slices.Index(list, "For")], " "); got != want {
			t.Errorf("%s starts with %s, want %s", s.name, got, want)
		}
	}
}
