// Package lowertest has helpers for the tests of passes: cases of one pass in files, an oracle for the result of a
// whole pipeline, and the happens-before relation of a program.
package lowertest

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/interp"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/hostir/verify"
	"github.com/hirgen/hirgen/model/domain"
)

var update = flag.Bool("update", false, "write the wanted files anew; the run still fails, so that a change is looked at")

// PassCases runs one pass over every testdata/pass/<name>/<case>.in.hir and compares the result with <case>.want.hir:
// the program's text, or, after "error:", the diagnostics. If it gives no error, the pass must keep the results of the
// program, and a second run of it must change nothing.
func PassCases(t *testing.T, name string, pass func(*hostir.Program) error) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(moduleRoot(t), "testdata", "pass", name, "*.in.hir"))
	if err != nil || len(files) == 0 {
		t.Fatalf("pass %s has no cases (%v)", name, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".in.hir"), func(t *testing.T) {
			program := parseFile(t, file)
			if err := verify.Program(program); err != nil {
				t.Fatalf("the case itself: %v", err)
			}
			before := interpret(t, program)
			got := after(t, pass, program)
			Compare(t, strings.TrimSuffix(file, ".in.hir")+".want.hir", got)
			if !strings.HasPrefix(got, "error:") {
				if diff := cmp.Diff(before, interpret(t, program)); diff != "" {
					t.Errorf("the pass changes the result (-before +after):\n%s", diff)
				}
				if again := after(t, pass, program); again != got {
					t.Errorf("a second run changes the program:\n%s", cmp.Diff(got, again))
				}
			}
		})
	}
}

// moduleRoot returns the folder of go.mod. Tests run in the folder of their package.
func moduleRoot(t *testing.T) string {
	t.Helper()
	for root := "."; ; root = filepath.Join(root, "..") {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			return root
		}
		if path, err := filepath.Abs(root); err != nil || path == filepath.Dir(path) {
			t.Fatalf("no go.mod above the test: %v", err)
		}
	}
}

// after returns the text of a program after a pass over all its variants, or the pass's error.
func after(t *testing.T, pass func(*hostir.Program) error, program *hostir.Program) string {
	t.Helper()
	for _, form := range slices.Backward(program.Variants()) {
		if err := pass(form); err != nil {
			return "error:\n" + err.Error() + "\n"
		}
	}
	if err := verify.Program(program); err != nil {
		t.Errorf("after the pass: %v", err)
	}
	return text.Print(program)
}

func parseFile(t *testing.T, file string) *hostir.Program {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	program, err := text.Parse(file, string(source))
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// Compare fails the test if a text differs from a file. With -update it also writes the file.
func Compare(t *testing.T, file, got string) {
	t.Helper()
	want, err := os.ReadFile(file)
	if err == nil && string(want) == got {
		return
	}
	t.Errorf("%s differs (-want +got):\n%s", file, cmp.Diff(string(want), got))
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// interpret runs all variants of a program on small integers. Their outputs must be equal, and interpret returns them.
func interpret(t *testing.T, program *hostir.Program) []map[string]*interp.Array {
	t.Helper()
	var first []map[string]*interp.Array
	for _, form := range program.Variants() {
		outputs, err := interp.Run(form, integers(form), 1)
		if err != nil {
			t.Fatalf("%v\n%s", err, text.Print(form))
		}
		if first == nil {
			first = outputs
		}
		if diff := cmp.Diff(first, outputs); diff != "" {
			t.Errorf("the fallback variant gives another result (-program +fallback):\n%s", diff)
		}
	}
	return first
}

// integers returns the inputs of every rank. An element is a small integer that depends on the tensor and on its index in the whole tensor.
func integers(program *hostir.Program) []map[string]*interp.Array {
	ranks := make([]map[string]*interp.Array, program.Meshes[0].Size())
	for r := range ranks {
		ranks[r] = map[string]*interp.Array{}
		for k, tensor := range program.Tensors {
			if tensor.Role == hostir.Input {
				a := &interp.Array{Shape: hostir.LocalShape(tensor)}
				fillPart(a, tensor, program.Meshes[0].Ranks[r], 0, 0, k)
				ranks[r][tensor.Name] = a
			}
		}
	}
	return ranks
}

// fillPart appends to a the rank's elements along axis and all later axes, with fixed indices along the earlier axes.
// place is the row-major number of these fixed indices in the whole tensor. salt varies the values between tensors.
func fillPart(a *interp.Array, t *hostir.Tensor, rank, axis int, place int64, salt int) {
	if axis == len(t.Axes) {
		a.Data = append(a.Data, float64((place*7+int64(salt)*3)%5-2))
		return
	}
	first, count := int64(0), t.Axes[axis].LocalSize()
	if t.Axes[axis].Kind == domain.Device {
		first = int64(t.Mesh.Coordinate(rank, t.Axes[axis].Mesh))
	}
	for i := range count {
		fillPart(a, t, rank, axis+1, place*t.Axes[axis].Size+first+i, salt)
	}
}
