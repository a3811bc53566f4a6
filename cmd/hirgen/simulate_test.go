package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/simulate"
)

// TestSimulateRefuses checks that simulate refuses wrong command lines, and specs that it cannot load or lower.
func TestSimulateRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		exit int
		want string
	}{
		{[]string{agMatmul}, exitUsage, "-n RANKS,... says for how many ranks"},
		{[]string{agMatmul, "-n", "0"}, exitUsage, "numbers in 1 to 4096"},
		{[]string{agMatmul, "-n", "2,x"}, exitUsage, `"x"`},
		{[]string{agMatmul, "-n", "2", "--scale", "Q"}, exitUsage, "--scale Q: name a parameter of "},
		{[]string{agMatmul, "-n", "2", "--scale", "D"}, exitUsage, "that is not its number of ranks: D, S, M, N, K"},
		{[]string{agMatmul, "-n", "2", "--machine", "h300"}, exitUsage, `there is no machine "h300"`},
		{[]string{agMatmul, "-n", "2", "-p", "Q=1"}, exitSpec, `no parameter "Q"`},
		{[]string{"none.yaml", "-n", "2"}, exitEnvironment, "none.yaml"},
	} {
		exit, _, stderr := hirgen(t, "", append([]string{"simulate"}, c.args...)...)
		if exit != c.exit || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit code %d, want %d with %q:\n%s", c.args, exit, c.exit, c.want, stderr)
		}
	}
	if exit, stdout, stderr := hirgen(t, "", "simulate", agMatmul, "-n", "3,5"); exit != exitSpec || !strings.Contains(stdout, "3 ranks: ") ||
		!strings.Contains(stderr, "nothing was predicted") {
		t.Errorf("exit code %d:\n%s%s", exit, stdout, stderr)
	}
	grid := file(t, "grid.yaml", "hirgen: 1\nname: g\nparams: {R: 2, D: 2}\nmesh: {y: R, x: D}\n"+
		"tensors: {A: [DIDy, DIDx, 8]}\nops: [B = relu(A)]\n")
	exit, stdout, stderr := hirgen(t, "", "simulate", grid, "-n", "4,8")
	if want := "8 ranks: the mesh of g has 2 axes: set their extents with -p, and the number of ranks to their product"; exit != exitOK ||
		!strings.Contains(stdout, want) {
		t.Errorf("exit code %d, want %q:\n%s%s", exit, want, stdout, stderr)
	}
	if exit, stdout, stderr := hirgen(t, "", "simulate", grid, "-p", "R=4", "-n", "8"); exit != exitOK || strings.Contains(stdout, "axes") {
		t.Errorf("exit code %d:\n%s%s", exit, stdout, stderr)
	}
}

// TestSimulate runs simulate with a user's machine file with nodes. It checks the table and the JSON, a page, and
// the trace of one rank of each class.
func TestSimulate(t *testing.T) {
	own := file(t, "own.json", `{"like": "h200", "name": "mine", "nodes": {"ranks": 4, "latency_us": 3, "gbps": [[1, 25]]}}`)
	folder := t.TempDir()
	trace, page := filepath.Join(folder, "trace.json"), filepath.Join(folder, "page.html")
	args := []string{"simulate", example("ag_matmul_anywhere"), "-n", "16,2,4,3", "--machine", own, "--trace", trace, "-o", page}
	exit, stdout, stderr := hirgen(t, "", args...)
	if exit != exitOK {
		t.Fatal(stderr)
	}
	for _, want := range []string{
		"ag_matmul_anywhere D=4 K=8192 M=8192 N=8192 on mine\n",
		"3 ranks: " + example("ag_matmul_anywhere") + ":8:13: error HG031: M / D is 8192 / 3, which is not a whole number",
		"NOT VALIDATED: figures of mine were measured on at most 4 ranks of one node, and these are predictions for 16",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in:\n%s", want, stdout)
		}
	}
	if text := read(t, page); !strings.Contains(text, "efficiency: strong scaling") || strings.Contains(text, "http") {
		t.Error(text)
	}
	var events struct {
		Other map[string]any   `json:"otherData"`
		List  []map[string]any `json:"traceEvents"`
	}
	if err := json.Unmarshal([]byte(read(t, trace)), &events); err != nil || events.Other["classes"] != 4.0 {
		t.Fatalf("%v: %v", err, events.Other)
	}
	if text := read(t, trace); strings.Count(text, `"process_name"`) != 4 || !strings.Contains(text, `{"name":"rank 1, for 4: 1, 5, 9, 13"}`) {
		t.Errorf("%d ranks in the trace", strings.Count(text, `"process_name"`))
	}
	exit, stdout, stderr = hirgen(t, "", append(args, "--json", "--scale", "M")...)
	var r simulate.Result
	if err := json.Unmarshal([]byte(stdout), &r); exit != exitOK || err != nil {
		t.Fatalf("exit code %d, %v: %s", exit, err, stderr)
	}
	last := r.Rows[3]
	if r.Machine != "mine" || r.Measured != 4 || r.Scale != "M" || last.Ranks != 16 || last.Nodes != 4 || last.Scaled != 32768 ||
		last.Measured || !r.Rows[1].Measured {
		t.Errorf("%+v", r)
	}
}

// TestSimulatePageShowsItsOutput checks that docs/simulate.md has the table of its example.
func TestSimulatePageShowsItsOutput(t *testing.T) {
	blocks := strings.Split(read(t, "../../docs/simulate.md"), "```")
	spec := file(t, "fsdp.yaml", strings.TrimPrefix(blocks[1], "yaml"))
	exit, out, stderr := hirgen(t, "", "simulate", spec, "-n", "8,64,1024", "--scale", "M")
	if exit != exitOK || !strings.HasPrefix("\n"+out, blocks[3]) {
		t.Errorf("exit code %d: docs/simulate.md is not what is printed:\n%s%s", exit, out, stderr)
	}
}

// TestSimulateHelpShowsItsOutput checks that the help has the table that its first example prints.
func TestSimulateHelpShowsItsOutput(t *testing.T) {
	cmd := newSimulate()
	first, _, _ := strings.Cut(cmd.Example, "\n")
	args := strings.Fields(first)[1:]
	args[1] = "../../" + args[1]
	exit, out, stderr := hirgen(t, "", args...)
	if exit != exitOK || !strings.Contains(out, simulateSample) || !strings.Contains(cmd.Long, simulateSample) {
		t.Errorf("exit code %d: the help shows\n%s\nand %s prints\n%s%s", exit, simulateSample, first, out, stderr)
	}
}
