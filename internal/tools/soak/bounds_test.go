package soak

import (
	"testing"

	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir/interp"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/eval"
)

// TestBoundsAcceptRightOutputs checks that correct outputs are within the bounds for normally distributed inputs, also
// in specs whose outputs are usually compared exactly. Two kinds of outputs count as correct: those of the interpreter,
// which sums and rounds like the program, and those computed in float64 and rounded once, and to 8 bits.
func TestBoundsAcceptRightOutputs(t *testing.T) {
	for specs, number := 0, uint64(0); specs < 1000; number++ {
		spec := MakeUp(77, number)
		p, err := model.Load("spec.yaml", []byte(spec.Text()), nil)
		if err != nil {
			continue
		}
		program, err := lowering.Host(p, lowering.Options{})
		if err != nil {
			continue
		}
		specs++
		inputs := eval.Fill(p, number)
		if eval.Exact(p) {
			inputs = eval.FillNormal(p, number)
		}
		o, err := lowertest.Within(p, inputs)
		if err != nil {
			t.Fatal(err)
		}
		got, err := interp.Run(program, o.Inputs, number)
		if err == nil {
			err = o.Compare(got, number)
		}
		if err != nil {
			t.Errorf("%d: %v\n%s", number, err, spec.Text())
		}
		unrounded, err := eval.RunFloat64InBytes(p, inputs)
		for _, out := range p.Outputs {
			unrounded[out.Name].Round(out.DType) // numbers beyond the range of out.DType become infinite
			if err != nil || eval.Wrong(unrounded[out.Name].Data, o.Values[out.Name].Data, o.Bounds[out.Name].Data) > 0 {
				t.Errorf("%d: %s in float64 is called wrong: %v\n%s", number, out.Name, err, spec.Text())
			}
		}
	}
}
