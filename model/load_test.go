package model

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/domain"
)

// loadSpec loads one of the example specs.
func loadSpec(t *testing.T, name string, overrides map[string]int64) *Pipeline {
	t.Helper()
	p, _, err := LoadFile("../testdata/specs/"+name+"/spec.yaml", overrides)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// mustLoad loads a spec given as text.
func mustLoad(t *testing.T, src string) *Pipeline {
	t.Helper()
	p, err := Load("spec.yaml", []byte(src), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// spec returns a spec in fp32 on two ranks with the given tensors and operations.
func spec(tensors, ops string) string {
	return "hirgen: 1\nname: p\ndtype: fp32\nparams: {D: 2, S: 2}\nmesh: {x: D}\ntensors: {" + tensors + "}\nops:\n" + ops
}

func TestLoadAGMatmul(t *testing.T) {
	p := loadSpec(t, "ag_matmul", map[string]int64{"M": 64, "K": 16})
	if p.Name != "ag_matmul" || p.File != "spec.yaml" {
		t.Errorf("name %q, file %q", p.Name, p.File)
	}
	want := []Param{{"D", 4, pos(4, 10), ""}, {"S", 4, pos(4, 16), ""}, {"M", 64, pos(4, 22), ""}, {"N", 8192, pos(4, 31), ""},
		{"K", 16, pos(4, 40), ""}}
	if diff := cmp.Diff(want, p.Params); diff != "" {
		t.Error(diff)
	}
	a, c, op := p.Inputs[0], p.Outputs[0], p.Ops[0]
	if got := domain.FormatAxes(a.Axes); got != "[S, DIDx(D), M/(S*D), K]" {
		t.Errorf("A is %s", got)
	}
	if got := domain.FormatAxes(c.Axes); got != "[Stream(S), D, M/(S*D), N]" {
		t.Errorf("C is %s", got)
	}
	if diff := cmp.Diff([]int64{4, 4, 4, 16}, domain.Shape(a.Axes)); diff != "" {
		t.Error(diff)
	}
	if op.Kind != OpMatmul || op.Out != c || c.Producer != op || op.Pos != pos(12, 5) || a.Pos != pos(8, 3) {
		t.Errorf("op %+v, A at %v", op, a.Pos)
	}
	if len(p.Schedule.Choices) != 1 || p.Schedule.Get("streams") != "4" || p.Schedule.Of("A", "via") != "nccl" {
		t.Errorf("schedule %v", p.Schedule)
	}
	if len(p.Meshes) != 1 || p.Meshes[0].Size() != 4 {
		t.Errorf("meshes %v", p.Meshes)
	}
}

func pos(line, col int) diag.Pos { return diag.Pos{File: "spec.yaml", Line: line, Col: col} }
