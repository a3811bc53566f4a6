package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/model/schedule"
)

// checked returns the report of hirgen check --json.
func checked(t *testing.T, stdin string, args ...string) checkReport {
	t.Helper()
	exit, text, stderr := hirgen(t, stdin, append([]string{"check", "--json"}, args...)...)
	if exit != exitOK {
		t.Fatalf("exit code %d:\n%s", exit, stderr)
	}
	var r checkReport
	read := json.NewDecoder(strings.NewReader(text))
	read.DisallowUnknownFields()
	if err := read.Decode(&r); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	return r
}

// chosen returns the value of a field of the schedule in a report.
func chosen(r checkReport, path string) (value any, ok bool) {
	of, field := schedule.SplitPath(path)
	fields := r.Schedule
	if of != "" {
		fields, _ = fields[of].(map[string]any)
	}
	value, ok = fields[field]
	return value, ok
}

func example(name string) string {
	return filepath.Join("..", "..", "testdata", "specs", name, "spec.yaml")
}

func TestCheckAsJSON(t *testing.T) {
	r := checked(t, "", example("matmul_rs_p2p"), "-p", "D=2", "-p", "M=64", "-p", "N=16", "-p", "K=32", "--schedule", "C.split=2")
	if r.Name != "matmul_rs_p2p" || r.Ranks != 2 || !reflect.DeepEqual(r.Params, map[string]int64{"D": 2, "M": 64, "N": 16, "K": 32}) {
		t.Errorf("name %s, %d ranks, parameters %v", r.Name, r.Ranks, r.Params)
	}
	if want := []meshReport{{"world", []meshAxisReport{{"x", 2}}, []int{0, 1}}}; !reflect.DeepEqual(r.Meshes, want) {
		t.Errorf("meshes %v, want %v", r.Meshes, want)
	}
	for path, want := range map[string]any{
		"pipeline": "p2p", "transport": nil, "streams": 4.0, "delay": 0.0, "graph": false,
		"all.via": "ipc-put", "all.split": 1.0, "all.block": nil, "all.steps": "rotation", "C.split": 2.0,
	} {
		if got, ok := chosen(r, path); !ok || got != want {
			t.Errorf("schedule: %s is %v, want %v", path, got, want)
		}
	}
	parts := tensorReport{"P", "intermediate", "bf16", "world", []string{"DIDx(D)", "Stream(D)", "M/D", "N"}, []int64{2, 2, 32, 16},
		[]int64{1, 2, 32, 16}, ""}
	sum := tensorReport{"C", "output", "bf16", "world", []string{"r(D)", "DIDx(D)", "M/D", "N"}, []int64{2, 32, 16}, []int64{1, 32, 16}, ""}
	for _, want := range []tensorReport{parts, sum} {
		if got := tensorOf(r, want.Name); !reflect.DeepEqual(got, want) {
			t.Errorf("tensor %v, want %v", got, want)
		}
	}
	if op := r.Operations[1]; op.Op != "matmul" || op.Out != "P" || !reflect.DeepEqual(op.In, []string{"A", "Bb"}) ||
		op.Product == nil || *op.Product != (productReport{M: 64, N: 16, K: 16, Batch: 2}) {
		t.Errorf("operation %v %v", op, op.Product)
	}
	if op := r.Operations[2]; op.Op != "reduce" || op.Fn != "sum" || op.Product != nil || !strings.HasPrefix(op.At, "spec.yaml:") {
		t.Errorf("operation %v", op)
	}
	if len(r.Communications) != 1 || r.Auto != nil || r.Fallback != nil {
		t.Fatalf("communications %v, auto %v, fallback %v", r.Communications, r.Auto, r.Fallback)
	}
	if c := r.Communications[0]; c.Type != "sendrecv" || !c.Peers || c.Mesh != "world" || !reflect.DeepEqual(c.Axes, []string{"x"}) ||
		c.By != "IPC-put" || c.Times*c.Bytes != 32*16*2 || c.Next != nil ||
		c.Why != "each rank of x has a part of the sum C; C is to be split over x along axis 0" {
		t.Errorf("communication %v", c)
	}
}

// TestCheckHasTheNextBest checks that check prints the reason for a derived communication, and the next best
// placements.
func TestCheckHasTheNextBest(t *testing.T) {
	spec := "../../testdata/placements/own_transpose.yaml"
	next := checked(t, "", spec).Communications[0].Next
	if next == nil || next.Us == nil || *next.Us <= 0 || !strings.HasPrefix(next.Instead, "allgather of A over x (") {
		t.Fatalf("the next best is %v", next)
	}
	want := "\n    why: each rank of x has a part of the sum C; C is to be whole\n    next best: " + next.String() + "\n"
	if _, text, _ := hirgen(t, "", "check", spec); !strings.Contains(text, want) {
		t.Errorf("check prints\n%s", text)
	}
}

// tensorOf returns the report on a tensor, without its position.
func tensorOf(r checkReport, name string) tensorReport {
	for _, tensor := range r.Tensors {
		if tensor.Name == name {
			tensor.At = ""
			return tensor
		}
	}
	return tensorReport{}
}

func TestCheckAsJSONSaysWhatAutoChose(t *testing.T) {
	r := checked(t, "", example("ag_matmul_auto"), "--schedule", "streams=3")
	if r.Auto == nil || !reflect.DeepEqual(r.Auto.Given, []string{"streams"}) || !strings.HasPrefix(r.Auto.Basis, "ag_matmul ") {
		t.Fatalf("auto %v", r.Auto)
	}
	if r.Schedule["streams"] != 3.0 || !strings.Contains(r.Auto.Basis, fmt.Sprint("pipeline ", r.Schedule["pipeline"])) {
		t.Errorf("schedule %v, by %s", r.Schedule, r.Auto.Basis)
	}
}

func TestCheckAsJSONOfSeveralNodes(t *testing.T) {
	r := checked(t, "", example("ag_matmul_anywhere"))
	if r.Fallback == nil || len(r.Fallback.Communications) != 2 || r.Fallback.Communications[1].By != "NCCL inter-node" {
		t.Errorf("fallback %v", r.Fallback)
	}
}

// TestCheckAsJSONCountsProducts checks the extents of GEMMs with and without batches, and with weights [n, k].
func TestCheckAsJSONCountsProducts(t *testing.T) {
	spec := "hirgen: 1\nname: p\nmesh: {x: 1}\ntensors:\n  A: [2, 3, 8, 16]\n  B: [16, 12]\n  E: [2, 3, 16, 12]\n  W: [12, 16]\n" +
		"ops:\n  - C = matmul(A, B)\n  - F = matmul(A, E)\n  - G = linear(A, W)\n"
	r := checked(t, spec, "-")
	want := []productReport{{48, 12, 16, 1}, {8, 12, 16, 6}, {48, 12, 16, 1}}
	for i, op := range r.Operations {
		if *op.Product != want[i] {
			t.Errorf("%s: %v, want %v", op.Out, *op.Product, want[i])
		}
	}
}

// TestCheckAsJSONHasEveryField checks that the report has every field of the schedule.
func TestCheckAsJSONHasEveryField(t *testing.T) {
	r := checked(t, "", agMatmul)
	for _, f := range schedule.Fields {
		path := f.Name
		if f.Scope == schedule.Communication {
			path = "all." + path
		}
		if value, ok := chosen(r, path); !ok || value == "" {
			t.Errorf("%s: %q", path, value)
		}
	}
}

// TestCheckWarnsOfMeshes checks that check warns of a mesh of several ranks if no tensor is split over it or no tensor is
// on it. This is no error.
func TestCheckWarnsOfMeshes(t *testing.T) {
	const idle = "over the mesh: each rank computes all of it"
	for name, c := range map[string]struct{ text, want string }{
		"nothing split": {"mesh: {x: 2}\ntensors: {A: [8]}\nops: [B = relu(A)]\n", "bad.yaml:3:1: nothing is split " + idle},
		"mesh without users": {"mesh: {x: 2}\nmeshes: {left: {axes: {x: 1}}, both: {axes: {x: 2}}}\ntensors: {A: [DIDx, 8]}\nops: [B = " +
			"relu(A)]\n", "bad.yaml:4:32: no tensor is on mesh both"},
		"one rank": {"params: {D: 1}\nmesh: {x: D}\ntensors: {A: [8]}\nops: [B = relu(A)]\n", ""},
		"split":    {"mesh: {x: 2}\ntensors: {A: [DIDx, 8]}\nops: [B = relu(A)]\n", ""},
		"placed": {"mesh: {x: 2}\nmeshes: {left: {axes: {x: 1}, ranks: [0]}, right: {axes: {x: 1}, ranks: [1]}}\n" +
			"tensors: {A: {axes: [8], mesh: left}, B: {axes: [8], mesh: right}}\nops: [B = set(A)]\n", ""},
	} {
		path := file(t, "bad.yaml", "hirgen: 1\nname: p\n"+c.text)
		exit, stdout, stderr := hirgen(t, "", "check", path)
		if exit != exitOK || strings.Contains(stdout, "warning: ") != (c.want != "") || !strings.Contains(stdout, c.want) {
			t.Errorf("%s: exit code %d\n%s%s", name, exit, stdout, stderr)
		}
		if _, stdout, _ := hirgen(t, "", "check", path, "--json"); strings.Contains(stdout, `"warnings": []`) != (c.want == "") {
			t.Errorf("%s: %s", name, stdout)
		}
	}
}
