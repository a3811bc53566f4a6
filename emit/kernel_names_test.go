package emit_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/calls/names"
	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
)

// TestNamesOfKernelOperands checks that no two parameters of the function that launches a kernel have the
// same name, and that none has the name of the kernel's class.
func TestNamesOfKernelOperands(t *testing.T) {
	for _, spec := range []string{`tensors:
  rows: [DIDx, 8, 16]
  fn: [16]
  elements: [DIDx, 8, 16]
  where: [DIDx, 8, 16]
  row: [DIDx, 8, 16]
ops:
  - elements = add(rows, fn)
  - where = gelu(elements)
  - row = mul(where, rows)
  - last = relu(where)
outputs: [row, last]
`, `tensors: {X: [DIDx, 8, 16], Gelu: [DIDx, 8, 16]}
ops: [Gelu = gelu(X)]
`, `tensors: {A: [DIDx, 16, 64/D], W: [DIDx, 64/D, 4096], parts: [16, 4096], gamma: [4096], X1: [16, 4096], Y: [16, 4096]}
ops:
  - P = matmul(A, W)
  - S = sum(P, axis=0)
  - X1 = add(parts, S)
  - Y = rms_norm(X1, gamma)
outputs: [X1, Y]
schedule: {pipeline: p2p, streams: 0, graph: true, all: {via: ipc-put, copy: sm, fuse: exchange, signals: batched}}
`} {
		files, err := emitText(t, "hirgen: 1\nname: named\nparams: {D: 2}\nmesh: {x: D}\n"+spec)
		if err != nil {
			t.Fatal(err)
		}
		checkKernelNames(t, files)
	}
}

func checkKernelNames(t *testing.T, files []emit.File) {
	t.Helper()
	prototype := regexp.MustCompile(`void (\w+)\(([^)]*)\)`)
	found := 0
	for _, f := range files {
		if f.Path != "named_kernels.hpp" {
			continue
		}
		for _, match := range prototype.FindAllStringSubmatch(string(f.Data), -1) {
			found++
			taken := []string{names.ClassName(match[1])}
			for parameter := range strings.SplitSeq(match[2], ",") {
				name := parameter[strings.LastIndexAny(parameter, " *&")+1:]
				if slices.Contains(taken, name) {
					t.Errorf("%s: the name %s is taken", match[0], name)
				}
				taken = append(taken, name)
			}
		}
	}
	if found == 0 {
		t.Error("the program has no kernel")
	}
}

// TestNamesOfKernelValues checks that no two values of a kernel have the same name. A result that steps read is a
// value, too.
func TestNamesOfKernelValues(t *testing.T) {
	pipeline, err := model.Load("spec.yaml", []byte(`hirgen: 1
name: named
mesh: {x: 2}
dtype: fp32
tensors:
  A: [2, 2, 1]
  seed: {axes: [1], dtype: int64}
ops:
  - T1 = dropout(A, seed, p=0.1)
  - T2 = dropout(T1, seed, p=0)
  - T3 = permute(T1, perm=[2, 1, 0])
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	program, err := lowering.Host(pipeline, lowering.Options{})
	if err != nil {
		t.Fatal(err)
	}
	value := regexp.MustCompile(`const auto (\w+) =`)
	for _, f := range render(t, program) {
		if f.Path != "named_kernels.cu" {
			continue
		}
		for kernel := range strings.SplitSeq(string(f.Data), "operator()") {
			seen := map[string]bool{}
			for _, match := range value.FindAllStringSubmatch(kernel, -1) {
				if seen[match[1]] {
					t.Errorf("a kernel has two values %s:\n%s", match[1], kernel)
				}
				seen[match[1]] = true
			}
			if strings.Contains(kernel, "T1_row") && len(seen) < 2 {
				t.Errorf("the kernel has %d values:\n%s", len(seen), kernel)
			}
		}
	}
}
