package model

import (
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/domain"
)

func agMatmul() *Builder {
	b := New("ag_matmul").File("spec.yaml")
	b.Param("D", 4).Param("S", 4).Param("M", 8192).Param("N", 8192).Param("K", 8192)
	b.World().Axis("x", "D")
	b.DType(domain.BF16)
	b.Tensor("A", "S", "DIDx", "M/(S*D)", "K")
	b.Tensor("B", "K", "N")
	b.Tensor("C", "Stream(S)", "D", "M/(S*D)", "N")
	b.Matmul("C", "A", "B")
	b.Schedule("pipeline", "collective")
	return b
}

// ignorePositions makes cmp.Diff ignore positions, and the unexported fields of Pipeline.
var ignorePositions = cmp.Options{cmpopts.IgnoreTypes(diag.Pos{}), cmpopts.IgnoreUnexported(Pipeline{})}

func TestBuilderMakesTheModelOfTheSpec(t *testing.T) {
	built, err := agMatmul().Build()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(loadSpec(t, "ag_matmul", nil), built, ignorePositions); diff != "" {
		t.Error(diff)
	}
}

// TestTypedBuilderMakesTheModelOfTheSpec checks that typed extents and axes are equivalent to texts.
func TestTypedBuilderMakesTheModelOfTheSpec(t *testing.T) {
	b := New("ag_matmul").File("spec.yaml")
	D, S := b.Extent("D", 4), b.Extent("S", 4)
	M, N, K := b.Extent("M", 8192), b.Extent("N", 8192), b.Extent("K", 8192)
	rows := M.Over(S.Times(D))
	b.World().AxisOf("x", D)
	b.TensorOf("A", S, Device("x"), rows, K)
	b.TensorOf("B", K, N)
	b.TensorOf("C", Stream(S), D, rows, N)
	built, err := b.Matmul("C", "A", "B").Schedule("pipeline", "collective").Build()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(loadSpec(t, "ag_matmul", nil), built, ignorePositions); diff != "" {
		t.Error(diff)
	}
	for want, axis := range map[string]Axis{
		"(M-K)/2": M.Minus(K).Over(Constant(2)), "r(M+K)": Reduction(M.Plus(K)), "b(1)": Broadcast(), "DIDy": Device("y"),
	} {
		if axis.axis() != want {
			t.Errorf("%s, not %s", axis.axis(), want)
		}
	}
}

// TestPipelineWithOtherParameters checks that With also changes the parameters that depend on a parameter.
func TestPipelineWithOtherParameters(t *testing.T) {
	b := New("p").Param("M", 8).Derived("K", "M/2")
	b.Tensor("A", "M", "K")
	p, err := b.Unary("relu", "B", "A").Build()
	if err != nil {
		t.Fatal(err)
	}
	b.Unary("gelu", "C", "B") // after Build, so C is not part of p
	other, err := p.With(map[string]int64{"M": 16})
	if err != nil || other.Outputs[0].Name != "B" || domain.FormatAxes(other.Outputs[0].Axes) != "[M, K]" || other.Params[1].Value != 8 {
		t.Errorf("%+v, %v", other, err)
	}
	if _, err := p.With(map[string]int64{"M": 7}); err == nil {
		t.Error("7/2 is exact")
	}
}

// TestBuilderAndSpecAgreeOnEverything compares a spec with all fields except fill and the same pipeline in Go.
func TestBuilderAndSpecAgreeOnEverything(t *testing.T) {
	loaded := mustLoad(t, `
hirgen: 1
name: everything
doc: all there is
params: {M: 8, K: 4, P: 2*K}
mesh: {x: 2, y: 2}
meshes:
  left: {axes: {x: 2}, ranks: [0, 1]}
dtype: fp16
tensors:
  A: {axes: [DIDx, M, K], dtype: bf16}
  W: {axes: [M, K], dtype: bf16}
  v: {axes: [M], dtype: bf16}
  L: {axes: [DIDx(2), M, M], dtype: bf16, mesh: left}
ops:
  - L = linear(A, W, v)
  - T = permute(L, perm=[2, 0, 1])
  - Q = matmul(T, W)
  - U = broadcast(v, axis=0)
  - R = reshape(T, shape=[M, 2*M])
  - F = cast(R, dtype=fp32)
  - G = gelu(F)
  - H = max(G, F)
  - {op: sum, out: I2, in: [H], axis: 0}
  - J = set(I2)
outputs: [J, U, Q]
schedule: {preset: reference, streams: 3, initial_waits: fused, reshard: after, pipeline: reduce, all: {lead: all}, J: {via: nccl}}
`)
	b := New("everything").File("spec.yaml").Doc("all there is").DType(domain.FP16)
	b.Param("M", 8).Param("K", 4).Derived("P", "2*K")
	b.World().Axis("x", "2").Axis("y", "2")
	b.Mesh("left", 0, 1).Axis("x", "2")
	b.Tensor("A", "DIDx", "M", "K").DType(domain.BF16)
	b.Tensor("W", "M", "K").DType(domain.BF16)
	b.Tensor("v", "M").DType(domain.BF16)
	b.Tensor("L", "DIDx(2)", "M", "M").DType(domain.BF16).On("left")
	b.Linear("L", "A", "W", "v").Permute("T", "L", 2, 0, 1).Matmul("Q", "T", "W").Broadcast("U", "v", 0)
	b.Reshape("R", "T", "M", "2*M").Cast("F", "R", domain.FP32).Unary("gelu", "G", "F").Binary("max", "H", "G", "F")
	b.Reduce("sum", "I2", "H", 0).Set("J", "I2").Outputs("J", "U", "Q")
	b.Schedule("preset", "reference").Schedule("streams", "3").Schedule("initial_waits", "fused").Schedule("reshard", "after")
	b.Schedule("pipeline", "reduce").Schedule("all.lead", "all").Schedule("J.via", "nccl")
	built, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(loaded, built, ignorePositions); diff != "" {
		t.Error(diff)
	}
}

// TestBuilderAndSpecAgreeOnAttributes compares operations with attributes, and a fill, which the test above leaves out.
func TestBuilderAndSpecAgreeOnAttributes(t *testing.T) {
	loaded := mustLoad(t, `
hirgen: 1
name: attributes
params: {D: 2, M: 8}
mesh: {x: D}
dtype: fp32
tensors:
  A: [DIDx, M, 4]
  seed: {axes: [1], dtype: int64}
ops:
  - H = slice(A, axis=2, start=1, size=M/4)
  - B = concat(H, H, axis=2)
  - at = positions(A, axis=2)
  - S = scale(A, by=0.5)
  - T = shift(S, by=-2)
  - R = dropout_at(T, seed, at, p=0.25, salt=3, width=4)
outputs: [B, R]
fill: {A: positive}
`)
	b := New("attributes").File("spec.yaml").DType(domain.FP32)
	b.Param("D", 2).Param("M", 8)
	b.World().Axis("x", "D")
	b.Tensor("A", "DIDx", "M", "4")
	b.Tensor("seed", "1").DType(domain.Int64)
	b.Slice("H", "A", 2, "1", "M/4").Concat("B", 2, "H", "H").Positions("at", "A", 2)
	b.Scale("S", "A", 0.5).Shift("T", "S", -2).DropoutAt("R", 0.25, 3, 4, "T", "seed", "at")
	built, err := b.Outputs("B", "R").Fill("A", "positive").Build()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(loaded, built, ignorePositions); diff != "" {
		t.Error(diff)
	}
}

func TestBuilderReportsTheCallersLine(t *testing.T) {
	b := agMatmul()
	_, _, line, _ := runtime.Caller(0)
	b.Tensor("E", "Q")
	b.Unary("relu", "F", "C").Op("G = relu(")
	b.Op("H = gelu(F, axis=0)")
	_, err := b.Build()
	errs, ok := diag.Diagnostics(err)
	if !ok {
		t.Fatal(err)
	}
	var got []string
	for _, d := range errs.Items {
		got = append(got, d.Error())
	}
	at := func(line int) string { return diag.Pos{File: "builder_test.go", Line: line}.String() }
	want := []string{
		at(line+1) + `: error HG023: there is no parameter "Q"`,
		at(line+2) + `: error HG060: "(" is never closed`,
		at(line+3) + `: error HG065: gelu has no attribute "axis"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestBuilderReadsPlainNumbers checks that the builder refuses the forms of numbers that specs refuse.
func TestBuilderReadsPlainNumbers(t *testing.T) {
	for _, number := range []string{"010", "0x10", "1_000", "1e3", " 1", "+1"} {
		for name, change := range map[string]func(*Builder){
			"derived":   func(b *Builder) { b.Derived("N", number) },
			"mesh":      func(b *Builder) { b.World().Axis("x", number) },
			"axis":      func(b *Builder) { b.Tensor("B", number) },
			"attribute": func(b *Builder) { b.Op("B = sum(A, axis=(" + number + "))") },
			"schedule":  func(b *Builder) { b.Schedule("streams", number) },
		} {
			b := New("p")
			b.Tensor("A", "8")
			change(b)
			_, err := b.Op("C = relu(A)").Build()
			if (err == nil || !strings.Contains(err.Error(), "HG030")) &&
				(name != "attribute" || number != " 1" /* white space in an expression */) {
				t.Errorf("%s %q: %v", name, number, err)
			}
		}
	}
}

// TestBuilderTakesAFieldOnce checks that it is an error to set a field of the schedule in two calls.
func TestBuilderTakesAFieldOnce(t *testing.T) {
	b := New("p").At("model.dsl", 1, 1)
	b.Tensor("A", "8")
	b.Unary("relu", "B", "A").At("model.dsl", 7, 3).Schedule("streams", "1+2").Schedule("all.lead", "all")
	built, err := b.At("model.dsl", 8, 3).Schedule("graph", "true").Build()
	if err != nil || built.Schedule.Get("streams") != "3" || built.Schedule.Of("A", "lead") != "all" || built.Schedule.Get("graph") != "true" {
		t.Errorf("%+v, %v", built, err)
	}
	_, err = b.At("model.dsl", 9, 3).Schedule("streams", "3").Schedule("all.lead", "none").Build()
	errs, ok := diag.Diagnostics(err)
	if !ok || len(errs.Items) != 2 || len(errs.Items[0].Notes) != 1 || errs.Items[0].Notes[0].Pos.Line != 7 ||
		errs.Items[0].Error() != `model.dsl:9:3: error HG007: schedule has "streams" twice` {
		t.Errorf("%v", err)
	}
}

// TestBuilderTakesAnAxisOnce checks that it is an error to give a mesh an axis in two calls.
func TestBuilderTakesAnAxisOnce(t *testing.T) {
	b := New("p").At("model.dsl", 1, 1)
	b.World().Axis("x", "2").Axis("y", "2").Axis("x", "2")
	b.Tensor("A", "8")
	if _, err := b.Unary("relu", "B", "A").Build(); err == nil || !strings.Contains(err.Error(), "the mesh has axis x twice") {
		t.Errorf("%v", err)
	}
}

func TestBuilderAt(t *testing.T) {
	b := New("p").At("/some/where/model.dsl", 7, 3).Param("M", 0)
	_, err := b.Build()
	if err == nil || !strings.Contains(err.Error(), "model.dsl:7:3: error HG024") {
		t.Errorf("%v", err)
	}
}

// TestPipelineWithOtherParametersKeepsThoseThatWereSet checks that With keeps the overrides with which a spec was loaded.
func TestPipelineWithOtherParametersKeepsThoseThatWereSet(t *testing.T) {
	p, err := Load("spec.yaml", []byte("hirgen: 1\nname: p\nparams: {M: 8, S: 4}\nmesh: {x: 2}\ntensors:\n  A: [M, S]\nops:\n  - B = "+
		"relu(A)\noutputs: [B]\n"), map[string]int64{"S": 2})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if p, err = p.With(map[string]int64{"M": 16}); err != nil || p.Params[0].Value != 16 || p.Params[1].Value != 2 {
			t.Fatalf("%+v, %v", p.Params, err)
		}
	}
}
