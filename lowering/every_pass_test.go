package lowering

import (
	"fmt"
	"testing"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
)

// forms lists values of three schedule fields that change the program: initial_waits, joins, reshard.
var forms = [][3]string{
	{"split", "body", "before"},
	{"fused", "body", "before"},
	{"split", "after", "after"},
	{"fused", "after", "before"},
}

// TestEveryPassKeepsTheResult checks after each pass that changed the program that the interpreter computes the results
// of the model, for two pipelines and several sizes and schedules. It also runs the final program in several orders of
// execution.
func TestEveryPassKeepsTheResult(t *testing.T) {
	t.Parallel()
	for _, build := range []func(gemm) *model.Pipeline{agMatmul, agLinear} {
		for _, d := range []int64{1, 2, 4, 8} {
			for _, s := range []int64{1, 3, 4, 8} {
				p := build(small(d, s))
				o := lowertest.NewOracle(t, p, uint64(d*10+s))
				for streams := range 4 {
					form := forms[(streams+int(s))%len(forms)]
					variant(p, streams+1, form[0], form[1], form[2])
					t.Run(fmt.Sprintf("%s/d=%d/S=%d/streams=%d/%s", p.Name, d, s, streams+1, form), func(t *testing.T) {
						followPasses(t, p, o)
					})
				}
			}
		}
	}
}

// followPasses verifies and runs the program after every pass that changed it, and runs the final program in four
// orders of execution.
func followPasses(t *testing.T, p *model.Pipeline, o *lowertest.Oracle) {
	t.Helper()
	var program *hostir.Program
	options := Options{Verify: true, DumpAfter: func(pass, source string, changed bool) {
		if !changed {
			return
		}
		var err error
		if program, err = text.Parse(pass, source); err != nil {
			t.Fatalf("after %s: %v", pass, err)
		}
		if err := o.Check(program, 1); err != nil {
			t.Fatalf("after %s: %v\n%s", pass, err, source)
		}
	}}
	if _, err := Host(p, options); err != nil {
		t.Fatal(err)
	}
	check := o.Orders(program)
	for seed := range uint64(4) {
		if err := check(seed); err != nil {
			t.Fatalf("%v\n%s", err, text.Print(program))
		}
	}
}

// TestEverySeedAgrees checks final programs in 100 orders of execution, in every form.
func TestEverySeedAgrees(t *testing.T) {
	for _, form := range forms {
		p := variant(agLinear(small(2, 8)), 3, form[0], form[1], form[2])
		o := lowertest.NewOracle(t, p, 3)
		program, err := Host(p, Options{Verify: true})
		if err != nil {
			t.Fatal(err)
		}
		check := o.Orders(program)
		for seed := range uint64(100) {
			if err := check(seed); err != nil {
				t.Fatalf("%s: %v", form, err)
			}
		}
	}
}
