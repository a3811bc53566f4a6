package verify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/model/domain"
)

// TestVerifyFindsEveryBreach runs testdata/hir/bad. The lines "# want:" of a program list the errors for it, and every
// invariant except declared has a program that breaks it.
func TestVerifyFindsEveryBreach(t *testing.T) {
	files, err := filepath.Glob("../../../testdata/hir/bad/*.hir")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	broken := map[string]bool{"declared": true} // the parser refuses undeclared tensors
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".hir"), func(t *testing.T) {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for line := range strings.Lines(string(source)) {
				if w, ok := strings.CutPrefix(strings.TrimSpace(line), "# want: "); ok {
					want = append(want, w)
					broken[strings.Split(w, ":")[0]] = true
				}
			}
			p, err := text.Parse(file, string(source))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, messages(Program(p))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	for _, invariant := range Invariants {
		if !broken[invariant.Name] {
			t.Errorf("no program breaks %s", invariant.Name)
		}
	}
}

// messages returns the lines of an error without position and code.
func messages(err error) []string {
	var list []string
	if err == nil {
		return nil
	}
	for line := range strings.Lines(err.Error()) {
		_, source, _ := strings.Cut(strings.TrimSpace(line), "HG111: ")
		list = append(list, source)
	}
	return list
}

// TestVerifyWantsDeclarations checks the invariant declared on programs made in Go, since no text can break it.
func TestVerifyWantsDeclarations(t *testing.T) {
	a := &hostir.Tensor{Name: "A", DType: domain.BF16, Role: hostir.Input}
	c := &hostir.Tensor{Name: "C", DType: domain.BF16, Role: hostir.Output}
	p := &hostir.Program{Name: "p", Tensors: []*hostir.Tensor{a}, Body: []hostir.Stmt{&hostir.Set{Out: c, In: a}}}
	err := Program(p)
	if err == nil || !strings.Contains(err.Error(), "declared: Set names tensor C, which the program does not declare") {
		t.Errorf("got %v", err)
	}
	p.Tensors, p.Body = append(p.Tensors, c), []hostir.Stmt{&hostir.Set{Out: c}}
	if err := Program(p); err == nil || !strings.Contains(err.Error(), "declared: Set lacks an operand") {
		t.Errorf("got %v", err)
	}
}

// TestVerifyAcceptsALoopsOwnBuffer checks that a loop may allocate and free a buffer, also in a branch, and that the
// buffer may be allocated again later.
func TestVerifyAcceptsALoopsOwnBuffer(t *testing.T) {
	p, err := text.Parse("p.hir", `program p from "spec.yaml"
param S = 4
mesh world: x = 2, ranks 0..1
tensor A: bf16 [S, 8], mesh world, input
tensor C: bf16 [S, 8], mesh world, output
tensor B: bf16 [S, 8], mesh world, temp

C = Allocate
If rank == 0:
  For s in S:
    B = Allocate
    B = Unary(relu, A)
    Deallocate(B)
B = Allocate
B = Unary(relu, A)
C = Unary(exp, B)
`)
	if err != nil {
		t.Fatal(err)
	}
	if err := Program(p); err != nil {
		t.Error(err)
	}
}
