package lowering

import (
	"testing"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
)

// keepsResult lowers a pipeline, compares its outputs with the oracle in a number of orders of execution, and returns
// its program.
func keepsResult(t *testing.T, p *model.Pipeline, orders uint64) *hostir.Program {
	t.Helper()
	program, err := Host(p, Options{Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	check := lowertest.NewOracle(t, p, 3).Orders(program)
	for seed := range orders {
		if err := check(seed); err != nil {
			t.Fatalf("%v\n%s", err, text.Print(program))
		}
	}
	return program
}
