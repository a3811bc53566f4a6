package emit_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
)

// TestNamesOfKernelOperands checks that no two parameters of the function that launches a kernel have the
// same name.
func TestNamesOfKernelOperands(t *testing.T) {
	pipeline, err := model.Load("spec.yaml", []byte(`hirgen: 1
name: named
params: {D: 2}
mesh: {x: D}
tensors:
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
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	program, err := lowering.Host(pipeline, lowering.Options{})
	if err != nil {
		t.Fatal(err)
	}
	prototype := regexp.MustCompile(`void \w+\(([^)]*)\)`)
	found := 0
	for _, f := range render(t, program) {
		if f.Path != "named_kernels.hpp" {
			continue
		}
		for _, match := range prototype.FindAllStringSubmatch(string(f.Data), -1) {
			found++
			var names []string
			for parameter := range strings.SplitSeq(match[1], ",") {
				name := parameter[strings.LastIndexAny(parameter, " *&")+1:]
				if slices.Contains(names, name) {
					t.Errorf("%s has two parameters %s", match[0], name)
				}
				names = append(names, name)
			}
		}
	}
	if found == 0 {
		t.Error("the program has no kernel")
	}
}

// TestNamesOfKernelValues checks that no two values of a kernel have the same name. A result that is also
// read has a value.
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
