package runtime_cpp

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/eval"
)

// operands are tensors with all kinds of errors: X has roundings, R has leaps, Y and Z have both, and I is exact. Y has
// elements near 0, and at ends of the steps of functions.
const operands = "B = cast(A, dtype=bf16)/X = cast(B, dtype=fp32)/R = round(X)/Y = add(R, X)/V = ceil_pow2(Y)/Z = sub(V, A)/" +
	"K = cast(Y, dtype=int32)/I = cast(K, dtype=fp32)"

// boundedOps returns operations, as in a spec, that apply each function, each reduction and a matmul to these tensors.
func boundedOps() []string {
	list := strings.Split(operands, "/")
	add := func(format string, args ...any) {
		list = append(list, fmt.Sprintf("N%d = ", len(list))+fmt.Sprintf(format, args...))
	}
	for _, f := range domain.Functions {
		for _, in := range [][]any{{"A", "X"}, {"X", "Z"}, {"Y", "Z"}, {"Z", "Z"}, {"R", "Y"}, {"Z", "I"}} {
			switch {
			case f.Constant:
				add("%s(%s, by=0.75)", f.Name, in[0])
			case f.Unary == nil:
				add(f.Name+"(%s, %s)", in...)
			case in[1] != "I":
				add("%s(%s)", f.Name, in[0])
			}
		}
	}
	for _, in := range []string{"A", "X", "Y", "Z"} {
		for _, f := range domain.Folds {
			add("%s(%s, axis=1)", f.Name, in)
		}
		for _, other := range []string{"W", "U", "D"} {
			add("matmul(%s, %s)", in, other)
		}
		for _, dtype := range []string{"fp16", "fp8_e4m3", "int32"} {
			add("cast(%s, dtype=%s)", in, dtype)
		}
	}
	for _, by := range []int{16, 17, 1000, 1 << 23, 1 << 24} {
		add("scale(I, by=%d)", by)
		add("shift(I, by=%d)", by)
	}
	// Sums of exponentials with large errors; some of those of Y almost underflow.
	list = append(list, "U_logits = scale(U, by=40)", "U_exp = exp(U_logits)", "U_turned = permute(U_exp, perm=[1, 0])",
		"Y_logits = scale(Y, by=16)", "Y_less = shift(Y_logits, by=-100)", "Y_exp = exp(Y_less)")
	for _, in := range []string{"U_exp", "U_turned", "Y_exp"} {
		list = append(list, in+"_sum = sum("+in+", axis=1)", in+"_log = log("+in+"_sum)",
			in+"_total = broadcast("+in+"_sum, axis=1)", in+"_share = div("+in+", "+in+"_total)")
	}
	// Which elements of rows are the largest ones: errors decide in Z alone.
	for _, in := range []string{"X", "Y", "Z"} {
		list = append(list, in+"_max = max("+in+", axis=1)", in+"_largest = broadcast("+in+"_max, axis=1)")
		for _, f := range []string{"eq", "ge"} {
			list = append(list, fmt.Sprintf("%s_%s = %s(%s, %s_largest)", in, f, f, in, in))
		}
	}
	return slices.Insert(list, len(strings.Split(operands, "/")), "C = cast(W, dtype=bf16)", "U = cast(C, dtype=fp32)", "D = round(U)")
}

// TestBoundRows checks that tests/math/bound_rows.inc has the bounds that package eval computes. math_bounds compares
// them with those of the reference in C++. With -update it writes the file first.
func TestBoundRows(t *testing.T) {
	spec := "hirgen: 1\nname: bounds\nmesh: {x: 2}\ndtype: fp32\ntensors: {A: [2, 4], W: [4, 2]}\nops:\n"
	p, err := model.Load("bounds.yaml", []byte(spec+"  - "+strings.Join(boundedOps(), "\n  - ")+"\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	inputs := map[string]*eval.Array{
		"A": {Shape: []int64{2, 4}, Data: []float64{-1.7, 0.5, 0, 0.2503, 1.0003, 2.4997, -0.49999, 3.1}},
		"W": {Shape: []int64{4, 2}, Data: []float64{0.3, -1.1, 0.7, 1.5003, -0.2, 0.9, 2.1, -0.5001}},
	}
	values, bounds, err := eval.Bounds(p, inputs)
	if err != nil {
		t.Fatal(err)
	}
	list := func(a *eval.Array) string {
		texts := make([]string, len(a.Data))
		for i, v := range a.Data {
			texts[i] = strings.NewReplacer("+Inf", "INFINITY", "-Inf", "-INFINITY", "NaN", "NAN").Replace(strconv.FormatFloat(v, 'g', 8, 64))
		}
		return "{" + strings.Join(texts, ", ") + "}"
	}
	var want strings.Builder
	fmt.Fprintf(&want, "ROW(\"input\", \"\", \"A\", \"\", \"\", kFp32, %s, {})\n", list(inputs["A"]))
	fmt.Fprintf(&want, "ROW(\"input\", \"\", \"W\", \"\", \"\", kFp32, %s, {})\n", list(inputs["W"]))
	for _, op := range p.Ops {
		second := ""
		if len(op.In) > 1 {
			second = op.In[1].Name
		}
		fmt.Fprintf(&want, "ROW(%q, %q, %q, %q, %q, %s, %s, %s)\n", op.Kind, op.Fn, op.Out.Name, op.In[0].Name, second,
			domain.Enumerator(string(op.Out.DType)), list(values[op.Out.Name]), list(bounds[op.Out.Name]))
	}
	const path = "tests/math/bound_rows.inc"
	if *update {
		_ = os.WriteFile(path, []byte(want.String()), 0o644)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want.String() {
		t.Errorf("%s is not current; run: go test ./runtime_cpp -run BoundRows -update", path)
	}
}
