package emit_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/base/expr"
)

// TestBytes checks the size of the largest communication: the bytes that one rank receives or, for a collective, the
// bytes of the whole tensor. These schedules do not change the size.
func TestBytes(t *testing.T) {
	const slice = 8192 / 4 * 8192 * 2
	arrangements := [][]string{
		{}, {"all.local", "last"}, {"all.lead", "none"}, {"all.lead", "none", "all.local", "last"}, {"all.block", "2"},
		{"all.split", "2"}, {"all.steps", "pairwise"}, {"all.via", "ipc-get"}, {"all.via", "ipc-put"},
		{"all.via", "ipc-put", "all.copy", "fused"}, {"all.steps", "ring", "all.split", "2"}, {"all.steps", "ring"},
	}
	for _, spec := range []string{"ag_matmul_p2p", "matmul_rs_p2p", "matmul_ar_p2p", "allgather_p2p"} {
		for _, fields := range arrangements {
			if spec == "allgather_p2p" && slices.Contains(fields, "all.split") {
				continue
			}
			schedule := append([]string{"all.via", "nccl"}, fields...)
			program := emitFile(t, "../testdata/specs/"+spec+"/spec.yaml", schedule...)
			if got := evaluated(t, program, "bytes"); got != 3*slice {
				t.Errorf("%s, %q: %d bytes, want %d", spec, fields, got, 3*slice)
			}
		}
	}
	for _, fields := range [][]string{{}, {"", "eager"}, {"preset", "reference", "initial_waits", "fused"}} {
		program := emitFile(t, "../testdata/specs/ag_matmul/spec.yaml", fields...)
		if got := evaluated(t, program, "bytes"); got != 4*slice {
			t.Errorf("ag_matmul, %q: %d bytes, want %d", fields, got, 4*slice)
		}
	}
}

// TestTeamSize checks that a collective along one axis of a grid has fewer ranks than the grid, and that their number
// divides the size of the grid.
func TestTeamSize(t *testing.T) {
	program := emitFile(t, "../testdata/grids/ag_matmul_grid.yaml", "", "eager")
	if got, all := evaluated(t, program, "team_size"), evaluated(t, program, "mesh_size"); got >= all || all%got != 0 {
		t.Errorf("%d of %d ranks", got, all)
	}
}

// TestCommunications lists each communication of a program with its mesh axis, and checks which one the bandwidths
// refer to.
func TestCommunications(t *testing.T) {
	for spec, want := range map[string]struct{ list, largest string }{
		"specs/mlp_tp_backward/spec.yaml":     {`{"allgather x", "allgather x", "reducescatter x"}`, `"allgather"`},
		"specs/matmul_rs_ring/spec.yaml":      {`{"sendrecv x"}`, `"sendrecv"`},
		"specs/matmul_ar_peer_read/spec.yaml": {`{"sendrecv x", "sendrecv x"}`, `"sendrecv"`},
		"grids/ag_matmul_grid.yaml":           {`{"allgather x"}`, `"allgather"`},
		"specs/linear_ar_backward/spec.yaml":  {"", ""},
	} {
		program := emitFile(t, "../testdata/"+spec)
		for field, value := range map[string]string{"communications": want.list, "largest": want.largest} {
			line := " ." + field + " = " + value + ","
			if value == "" && strings.Contains(program, "."+field+" =") || value != "" &&
				!strings.Contains(strings.Join(strings.Fields(program), " "), line) {
				t.Errorf("%s: no%sin\n%s", spec, line, program)
			}
		}
	}
}

// evaluated returns the value of a field of the emitted ProgramTable, with the program's constants.
func evaluated(t *testing.T, program, field string) int64 {
	t.Helper()
	_, table, _ := strings.Cut(program, "ProgramTable table = {")
	found := regexp.MustCompile(`\.` + field + ` = ([^,{}]*),`).FindStringSubmatch(table)
	if found == nil {
		t.Fatalf("there is no %s in\n%s", field, program)
	}
	e, err := expr.Parse(strings.ReplaceAll(found[1], "sizeof(bf16)", "2"))
	if err != nil {
		t.Fatal(err)
	}
	value, err := expr.Eval(e, constant(program))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// constant returns a function that evaluates a constexpr constant of a program. That function returns false if the
// program lacks the constant, or if its value cannot be computed.
func constant(program string) func(name string) (int64, bool) {
	return func(name string) (int64, bool) {
		found := regexp.MustCompile(`constexpr int64_t (?:[^;]*, )?` + name + ` = ([^;,]*)[;,]`).FindStringSubmatch(program)
		if found == nil {
			return 0, false
		}
		e, err := expr.Parse(found[1])
		if err != nil {
			return 0, false
		}
		value, err := expr.Eval(e, constant(program))
		return value, err == nil
	}
}
