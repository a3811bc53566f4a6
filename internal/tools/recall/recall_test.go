package recall

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/prove/mutate"
)

var made = sync.OnceValues(func() ([]*Subject, error) { return Examples("../../..") })

func examples(t *testing.T) []*Subject {
	t.Helper()
	list, err := made()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestSubjectsAreRight checks that without a mistake, the oracle sees no effect and the checkers find nothing.
func TestSubjectsAreRight(t *testing.T) {
	check := All(Prove, Values)
	for _, s := range examples(t) {
		if err := check(s, s.Program); err != nil {
			t.Errorf("%s is rejected: %v", s.Name, err)
		}
		if effect, why := s.Judge(s.Program, 3); effect != None {
			t.Errorf("%s: %s: %s", s.Name, effect, why)
		}
	}
}

// TestEveryKindIsWrongSomewhere checks that of each kind there is a mutant of an example that the oracle shows to
// be wrong. So each kind can have an effect, and the oracle detects it.
func TestEveryKindIsWrongSomewhere(t *testing.T) {
	left := map[string]bool{}
	for _, k := range mutate.Kinds {
		left[k.Name] = true
	}
	if len(left) < 20 || len(left) != len(mutate.Kinds) {
		t.Errorf("%d kinds with %d names", len(mutate.Kinds), len(left))
	}
	for _, s := range examples(t) {
		for _, k := range mutate.Kinds {
			if m := mutate.Make(s.Program, k, 0); left[k.Name] && m != nil {
				effect, _ := s.Judge(m.Program, 10)
				left[k.Name] = effect == None
			}
		}
	}
	for kind, none := range left {
		if none {
			t.Errorf("no mutant with %s has an effect", kind)
		}
	}
}

// TestSample makes one mutant of each kind of twenty subjects, and checks that the checkers reject all wrong mutants.
// make verify-report checks more mutants.
func TestSample(t *testing.T) {
	subjects := examples(t)
	for _, r := range Run(subjects[len(subjects)/3:len(subjects)/3+20], Options{PerKind: 1, Seed: 2, Orders: 4, Check: All(Prove, Values)}) {
		if r.Survives() {
			t.Errorf("%s: %s: %s: %s", r.Subject, r.Kind, r.What, r.Why)
		}
	}
}

// TestForks makes mutants of a program whose GEMMs run side by side in a CUDA graph, and checks that the checkers reject all
// wrong ones.
func TestForks(t *testing.T) {
	subjects, err := Example("../../..", "llama_mlp", "graph: true, streams: 0")
	if err != nil {
		t.Fatal(err)
	}
	wrong := 0
	for _, r := range Run(subjects[:1], Options{PerKind: 3, Seed: 1, Orders: 6, Check: All(Prove, Values)}) {
		if r.Survives() {
			t.Errorf("%s: %s: %s", r.Kind, r.What, r.Why)
		}
		if r.Effect != None && (strings.Contains(r.What, "fork_") || strings.Contains(r.What, "join_")) {
			wrong++
		}
	}
	if wrong == 0 || subjects[0].Program.Streams == 0 {
		t.Errorf("%d wrong mutants change events of forks, with %d compute streams", wrong, subjects[0].Program.Streams)
	}
}

// TestPrint checks that Print lists every survivor once, for a checker that accepts everything and for a stricter
// one.
func TestPrint(t *testing.T) {
	subjects := examples(t)[:2]
	accept := func(*Subject, *calls.Program) error { return nil }
	var all, some bytes.Buffer
	lenient := Run(subjects, Options{PerKind: 1, Seed: 1, Orders: 4, Check: accept})
	strict := Run(subjects, Options{PerKind: 1, Seed: 1, Orders: 4, Check: BetweenPasses})
	Print(&all, Kinds(), lenient)
	Print(&some, Kinds(), strict)
	wrong, survivors := 0, 0
	for i := range lenient {
		if lenient[i].Effect != None {
			wrong++
		}
		if strict[i].Survives() {
			survivors++
		}
	}
	if n := strings.Count(all.String(), "(site "); n != wrong || wrong == 0 {
		t.Errorf("%d survivors are listed of %d:\n%s", n, wrong, all.String())
	}
	if n := strings.Count(some.String(), "(site "); n != survivors || n >= wrong {
		t.Errorf("%d survivors are listed of %d:\n%s", n, survivors, some.String())
	}
}
