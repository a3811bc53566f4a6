package lowering

import (
	"fmt"
	"testing"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model"
)

func TestEveryPassKeepsTheResult(t *testing.T) {
	for _, build := range []func(gemm) *model.Pipeline{agMatmul, agLinear} {
		for _, d := range []int64{1, 2, 4, 8} {
			for _, s := range []int64{1, 3, 4, 8} {
				p := build(small(d, s))
				o := newOracle(t, p, 1)
				for streams := 1; streams <= 4; streams++ {
					for _, form := range [][3]string{{"split", "body", "before"}, {"fused", "body", "before"}, {"split", "after", "after"}, {"fused", "after", "before"}} {
						variant(p, streams, form[0], form[1], form[2])
						t.Run(fmt.Sprintf("%s/d=%d/S=%d/streams=%d/%s", p.Name, d, s, streams, form), func(t *testing.T) {
							followPasses(t, p, o, uint64(streams)*1000+uint64(s))
						})
					}
				}
			}
		}
	}
}

// followPasses interprets the program after every pass that changed it.
func followPasses(t *testing.T, p *model.Pipeline, o *oracle, seed uint64) {
	t.Helper()
	program, err := Build(p)
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for i := -1; i < len(Passes); i++ {
		name := "build"
		if i >= 0 {
			name = Passes[i].Name
			if err := Passes[i].Run(program); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if err := hostir.Verify(program); err != nil {
			t.Fatalf("after %s: %v\n%s", name, err, hostir.Print(program))
		}
		text := hostir.Print(program)
		if text == last {
			continue
		}
		last = text
		for k := range uint64(2) {
			if err := o.check(program, seed+k); err != nil {
				t.Fatalf("after %s: %v\n%s", name, err, text)
			}
		}
	}
	for k := range uint64(8) {
		if err := o.check(program, seed+k); err != nil {
			t.Fatalf("%v\n%s", err, last)
		}
	}
}
