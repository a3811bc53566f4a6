package lowering

import (
	"fmt"
	"testing"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
)

// TestEverySynchronisationIsNeeded removes each Synchronize and each Wait, one per mutant. Some order of execution of
// the mutant has to fail: then these programs have no redundant wait, and the interpreter notices a missing one.
func TestEverySynchronisationIsNeeded(t *testing.T) {
	for _, form := range forms {
		for _, streams := range []int{1, 4} {
			p := variant(agLinear(small(2, 4)), streams, form[0], form[1], form[2])
			choose(&p.Schedule, "preset reference")
			o := lowertest.NewOracle(t, p, 5)
			program, err := Host(p, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range orders(program) {
				mutant, line := without(t, program, i)
				t.Run(fmt.Sprintf("%s/streams=%d/%s", form, streams, line), func(t *testing.T) {
					check := o.Orders(mutant)
					for seed := range uint64(60) {
						if check(seed) != nil {
							return
						}
					}
					t.Errorf("without statement %d nothing goes wrong\n%s", i, text.Print(mutant))
				})
			}
		}
	}
}

// needsItsWaits removes each Wait and each Synchronize of a pipeline's program, one per mutant. Some order of execution
// of the mutant has to fail, unless implied reports that other statements imply the removed one. i is the number of the
// removed statement among the statements that order streams, from 0.
func needsItsWaits(t *testing.T, p *model.Pipeline, implied func(i int, line string) bool) {
	t.Helper()
	o := lowertest.NewOracle(t, p, 5)
	program, err := Host(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range orders(program) {
		mutant, line := without(t, program, i)
		if implied(i, line) {
			continue
		}
		wrong, check := false, o.Orders(mutant)
		for seed := uint64(0); seed < 200 && !wrong; seed++ {
			wrong = check(seed) != nil
		}
		if !wrong {
			t.Errorf("without %s nothing goes wrong\n%s", line, text.Print(mutant))
		}
	}
}

// orders counts the statements that order streams: Synchronize and Wait.
func orders(p *hostir.Program) int {
	n := 0
	for s := range hostir.All(p.Body) {
		if ordersStreams(s) {
			n++
		}
	}
	return n
}

func ordersStreams(s hostir.Stmt) bool {
	switch s.(type) {
	case *hostir.Synchronize, *hostir.Wait:
		return true
	default:
		return false
	}
}

// without returns a copy of a program without the i-th statement, from 0, that orders streams, and the text of that
// statement.
func without(t *testing.T, p *hostir.Program, i int) (mutant *hostir.Program, removed string) {
	t.Helper()
	mutant, err := text.Parse("mutant", text.Print(p))
	if err != nil {
		t.Fatal(err)
	}
	n := -1
	mutant.Body = hostir.Rewrite(mutant.Body, func(s hostir.Stmt) []hostir.Stmt {
		if ordersStreams(s) {
			n++
			if n == i {
				removed = text.Statement(s)
				return nil
			}
		}
		return []hostir.Stmt{s}
	})
	return mutant, removed
}
