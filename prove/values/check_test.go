package values_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/text"
	"github.com/hirgen/hirgen/internal/tools/recall"
	"github.com/hirgen/hirgen/prove/mutate"
	"github.com/hirgen/hirgen/prove/unroll"
	"github.com/hirgen/hirgen/prove/values"
)

var made = sync.OnceValues(func() ([]*recall.Subject, error) { return recall.Examples("../..") })

func examples(t *testing.T) []*recall.Subject {
	t.Helper()
	list, err := made()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// check compares a program with the model of a subject.
func check(t *testing.T, s *recall.Subject, p *calls.Program, seed uint64) (*values.Result, error) {
	t.Helper()
	u, err := unroll.Unroll(p, s.Nodes)
	if err != nil {
		t.Fatal(err)
	}
	return values.Check(u, s.Pipeline, seed)
}

// TestExamples checks that every example computes the values of its model, also with other schedules that it accepts.
func TestExamples(t *testing.T) {
	list := examples(t)
	for _, s := range list {
		r, err := check(t, s, s.Program, 1)
		if err != nil || r.Elements == 0 || len(r.Mismatches) > 0 {
			t.Errorf("%s: %v, %+v", s.Name, err, r)
		}
	}
}

// TestOtherValues checks that mistakes in computations and their operands change the results, or stop the check, under two seeds.
func TestOtherValues(t *testing.T) {
	list := examples(t)
	kinds := []string{"wrong-offset", "wrong-function", "wrong-beta", "transpose", "wrong-reduction", "drop-call", "wrong-collective",
		"wrong-root"}
	tried := map[string]int{}
	for _, s := range list {
		for _, k := range mutate.Kinds {
			m := mutate.Make(s.Program, k, 0)
			if m == nil || !slices.Contains(kinds, k.Name) || tried[k.Name] == 6 {
				continue
			}
			tried[k.Name]++
			for seed := range uint64(2) {
				if r, err := check(t, s, m.Program, seed); err == nil && len(r.Mismatches) == 0 {
					t.Errorf("%s: %s: %s makes no difference", s.Name, k.Name, m.What)
				}
			}
		}
	}
	if len(tried) != len(kinds) {
		t.Errorf("tried only %v", tried)
	}
}

// TestWhere checks that a mismatch names the rank, the output and the first wrong element, and has a last writer if there is one.
func TestWhere(t *testing.T) {
	list := examples(t)
	s := list[slices.IndexFunc(list, func(s *recall.Subject) bool { return s.Name == "ag_matmul" })]
	for _, c := range []struct {
		kind    string
		written bool
	}{{"transpose", true}, {"drop-call", false}} {
		k := mutate.Kinds[slices.IndexFunc(mutate.Kinds, func(k mutate.Kind) bool { return k.Name == c.kind })]
		site := 0
		if c.kind == "drop-call" {
			site = 1 // the GEMM
		}
		m := mutate.Make(s.Program, k, site)
		r, err := check(t, s, m.Program, 1)
		if err != nil || len(r.Mismatches) != 4 {
			t.Fatalf("%s: %v, %+v", m.What, err, r)
		}
		if d := r.Mismatches[1]; d.Rank != 1 || d.Output != "C" || d.Elements != 32*24 || d.Wrong != d.Elements || d.First != 0 ||
			d.By >= 0 != c.written {
			t.Errorf("%s: %+v", m.What, d)
		}
	}
}

// TestPanicHasItsStatement checks that a panic in a statement is an error of hirgen, which names that statement.
func TestPanicHasItsStatement(t *testing.T) {
	s := examples(t)[0]
	u, err := unroll.Unroll(s.Program, s.Nodes)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(u.Stmts, func(s calls.Stmt) bool { _, is := s.(*calls.Gemm); return is })
	u.Stmts[at] = (*calls.Gemm)(nil)
	_, err = values.Check(u, s.Pipeline, 1)
	if internal := new(values.InternalError); !errors.As(err, &internal) || internal.By != int32(at) {
		t.Errorf("%v, want an internal error at statement %d", err, at)
	}
}

// TestGemmWithoutTerms checks that a GEMM whose sums have no terms is an error of the program, not of hirgen.
func TestGemmWithoutTerms(t *testing.T) {
	list := examples(t)
	s := list[slices.IndexFunc(list, func(s *recall.Subject) bool { return s.Name == "ag_matmul" })]
	p, err := text.Parse("spec.yaml", strings.Replace(text.Print(s.Program), ", k K,", ", k 0,", 1))
	if err != nil {
		t.Fatal(err)
	}
	_, err = check(t, s, p, 1)
	if internal := new(values.InternalError); err == nil || errors.As(err, &internal) {
		t.Errorf("%v, want an error of the GEMM", err)
	}
}
