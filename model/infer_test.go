package model

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/model/domain"
)

// TestInferredAxes checks the axes that inference gives to a result that is not declared.
func TestInferredAxes(t *testing.T) {
	for _, c := range []struct{ tensors, op, want string }{
		{"A: [S, DIDx, M, K], B: [K, N]", "matmul(A, B)", "[S, DIDx(D), M, N]"},
		{"A: [Stream(S), M, K], B: [K, N]", "matmul(A, B)", "[Stream(S), M, N]"},
		{"A: [M, K], B: [K, DIDx]", "matmul(A, B)", "[M, DIDx(D)]"},
		{"A: [DIDx, K], B: [K, DIDx]", "matmul(A, B)", "[DIDx(D), D]"}, // split once: the second axis is whole
		{"A: [S, DIDx, M, K], B: [DIDx, K, N]", "matmul(A, B)", "[S, DIDx(D), M, N]"},
		{"A: [S, D, M, K], B: [DIDx, K, N]", "matmul(A, B)", "[S, D, M, N]"}, // split in one operand only
		{"A: [S, DIDx, M, K], B: [b(1), K, N]", "matmul(A, B)", "[S, DIDx(D), M, N]"},
		{"A: [M, K], W: [DIDx, K]", "linear(A, W)", "[M, DIDx(D)]"},
		{"A: [DIDx, M]", "relu(A)", "[DIDx(D), M]"},
		{"A: [DIDx, M]", "permute(A, perm=[1, 0])", "[M, DIDx(D)]"},
		{"A: [M, K/2], B: [M, K/2]", "concat(A, B, axis=1)", "[M, K]"},
		{"A: [M, K/2], B: [M, K/2]", "concat(A, B)", "[M, K]"},
		{"A: [K/2, S], B: [M, S], C: [K/2, S]", "concat(A, B, C, axis=0)", "[K+M, S]"},
		{"A: [DIDx, M]", "sum(A, axis=0)", "[M]"},
		{"A: [DIDx, M]", "sum(A, axis=1)", "[DIDx(D)]"},
		{"A: [DIDx, M]", "broadcast(A, axis=-1)", "[DIDx(D), M, b(1)]"},
		{"A: [DIDx, M]", "reshape(A, shape=[D*M])", "[D*M]"},
		{"A: [DIDx, M], B: [DIDx, M]", "add(A, B)", "[DIDx(D), M]"},
		{"A: [DIDx, M], B: [D, M]", "add(A, B)", "[D, M]"},
		{"A: [Stream(S), M], B: [S, M]", "add(A, B)", "[Stream(S), M]"},
		{"A: [DIDx, M], B: [M]", "add(A, B)", "[DIDx(D), M]"},
		{"A: [M], B: [DIDx, b(1)]", "add(A, B)", "[DIDx(D), M]"},
		{"A: [1, M], B: [U, M]", "add(A, B)", "[U, M]"}, // with another U the number 1 stretches
		{"A: [U, M], B: [1, M]", "add(A, B)", "[U, M]"},
		{"A: [U, M, K], W: [D, 1, N, K]", "linear(A, W)", "[D, U, M, N]"},
		{"A: {axes: [DIDx, M], mesh: left}, B: [D, M]", "add(A, B)", "[D, M]"},
		{"A: [D, M], B: {axes: [DIDx, M], mesh: left}", "add(A, B)", "[D, M]"},
	} {
		p := mustLoad(t, "hirgen: 1\nname: p\nparams: {D: 2, S: 2, M: 3, K: 4, N: 5, U: 1}\nmesh: {x: D}\nmeshes: {left: {axes: {x: D}, ranks: "+
			"[1, 0]}}\n"+
			"tensors: {"+c.tensors+"}\nops:\n  - R = "+c.op+"\n")
		if got := domain.FormatAxes(p.Outputs[0].Axes); got != c.want {
			t.Errorf("%s of %s is %s, want %s", c.op, c.tensors, got, c.want)
		}
	}
}

// TestReductionAxesOfResults checks that a result may list the axis that its operation reduces, and that neither its shape
// nor later operations have this axis.
func TestReductionAxesOfResults(t *testing.T) {
	p := mustLoad(t, `
hirgen: 1
name: matmul_rs
params: {D: 2, S: 2, M: 8, K: 4, N: 3}
mesh: {x: D}
tensors:
  A: [S, DIDx, D, M/(S*D), K/D]
  B: [DIDx, 1, K/D, N]
  P: [Stream(S), DIDx, D, M/(S*D), N, r(K/D)]
  C: [Stream(S), r(D), DIDx, M/(S*D), N]
ops:
  - P = matmul(A, B)
  - C = sum(P, axis=1)
`)
	c := p.Outputs[0]
	if diff := cmp.Diff([]int64{2, 2, 2, 3}, domain.Shape(c.Axes)); diff != "" {
		t.Error(diff)
	}
	if op := c.Producer; op.Axis != 1 || op.Fn != "sum" {
		t.Errorf("%+v", op)
	}
}

func TestElementTypes(t *testing.T) {
	p := mustLoad(t, `
hirgen: 1
name: p
dtype: fp16
tensors:
  A: [4, 4]
  P: {axes: [4, 4], dtype: fp32}
ops:
  - P = matmul(A, A)
  - Q = matmul(A, A)
  - R = cast(P, dtype=bf16)
  - S = relu(R)
`)
	got := map[string]domain.DType{}
	for _, tensor := range p.Tensors {
		got[tensor.Name] = tensor.DType
	}
	want := map[string]domain.DType{"A": "fp16", "P": "fp32", "Q": "fp16", "R": "bf16", "S": "bf16"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if p := mustLoad(t, "hirgen: 1\nname: p\ntensors: {A: [4]}\nops: [B = relu(A)]\n"); p.Outputs[0].DType != domain.BF16 {
		t.Errorf("the default is %s", p.Outputs[0].DType)
	}
}

func TestMeshes(t *testing.T) {
	for _, c := range []struct {
		spec string
		want map[string][]int
	}{
		{"", map[string][]int{"world": {0}}},
		{"mesh: {x: 2, y: 3}\n", map[string][]int{"world": {0, 1, 2, 3, 4, 5}}},
		{"mesh: {x: 4}\nmeshes: {odd: {axes: {x: 2}, ranks: [1, 3]}}\n", map[string][]int{"world": {0, 1, 2, 3}, "odd": {1, 3}}},
		{"meshes:\n  left: {axes: {x: 2}}\n  right: {axes: {x: 2}, ranks: [3, 2]}\n",
			map[string][]int{"world": {0, 1, 2, 3}, "left": {0, 1}, "right": {3, 2}}},
	} {
		p := mustLoad(t, "hirgen: 1\nname: p\n"+c.spec+"tensors: {A: [4]}\nops: [B = relu(A)]\n")
		got := map[string][]int{}
		for _, m := range p.Meshes {
			got[m.Name] = m.Ranks
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q: %s", c.spec, diff)
		}
		if p.Meshes[0].Name != "world" {
			t.Errorf("%q: the first mesh is %s", c.spec, p.Meshes[0].Name)
		}
	}
}

func TestInputsAndOutputs(t *testing.T) {
	const head = "hirgen: 1\nname: p\ntensors: {A: [4], E: [4], B: [4]}\nops:\n  - C = add(B, A)\n  - D = relu(C)\n  - E = neg(C)\n"
	for _, c := range []struct {
		outputs string
		want    []string
	}{
		{"", []string{"E", "D"}}, // declared tensors first
		{"outputs: [D, E, C]\n", []string{"D", "E", "C"}},
	} {
		p := mustLoad(t, head+c.outputs)
		if diff := cmp.Diff([]string{"A", "B"}, tensorNames(p.Inputs)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(c.want, tensorNames(p.Outputs)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"A", "E", "B", "C", "D"}, tensorNames(p.Tensors)); diff != "" {
			t.Error(diff)
		}
	}
}

func tensorNames(list []*Tensor) []string {
	names := make([]string, len(list))
	for i, t := range list {
		names[i] = t.Name
	}
	return names
}

func TestOverridesReachEverything(t *testing.T) {
	p, err := Load("spec.yaml", []byte("hirgen: 1\nname: p\nparams: {D: 2, M: 2*D}\nmesh: {x: D}\n"+
		"tensors: {A: [DIDx, M]}\nops: [B = relu(A)]\nschedule: {streams: D}\n"), map[string]int64{"D": 3})
	if err != nil {
		t.Fatal(err)
	}
	if p.Params[1].Value != 6 || p.Meshes[0].Size() != 3 || p.Schedule.Get("streams") != "3" || p.Inputs[0].Axes[0].Size != 3 {
		t.Errorf("%+v %+v", p.Params, p.Schedule)
	}
}

// BenchmarkLoad loads a pipeline of 10,000 operations, which takes a time linear in their number.
func BenchmarkLoad(b *testing.B) {
	src := []byte("hirgen: 1\nname: p\ntensors: {T0: [8]}\nops:\n")
	for i := range 10_000 {
		src = append(src, []byte("  - T"+strconv.Itoa(i+1)+" = relu(T"+strconv.Itoa(i)+")\n")...)
	}
	for b.Loop() {
		if _, err := Load("spec.yaml", src, nil); err != nil {
			b.Fatal(err)
		}
	}
}
