package grad_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/eval"
	"github.com/hirgen/hirgen/model/grad"
)

// tolerance is the relative error that directional derivatives in float64 may have.
const tolerance = 1e-6

// backwardOf makes the backward pass of a pipeline, and loads it.
func backwardOf(t *testing.T, p *model.Pipeline, o grad.Options) (*model.Pipeline, *grad.Pass) {
	t.Helper()
	pass, err := grad.Backward(p, o)
	if err != nil {
		t.Fatal(err)
	}
	q, err := model.Load("backward.yaml", []byte(pass.Text), nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, pass.Text)
	}
	return q, pass
}

// forwardOf loads the forward pass with the saved tensors as outputs.
func forwardOf(t *testing.T, pass *grad.Pass) *model.Pipeline {
	t.Helper()
	p, err := model.Load("forward.yaml", []byte(pass.Forward), nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, pass.Forward)
	}
	return p
}

// axesOf returns the distribution of the tensors of a pipeline, or nil if it cannot be lowered to a host program.
func axesOf(p *model.Pipeline) map[string][]domain.Axis {
	axes, err := lowering.Axes(p)
	if err != nil {
		return nil
	}
	return axes
}

// direction compares the gradients of a pipeline along one random direction with finite differences of sum(dY Y), and
// returns the relative error. smooth is false if the sum is not smooth, or not finite, at the point that the seed chooses.
func direction(t *testing.T, p, q *model.Pipeline, pass *grad.Pass, seed uint64) (wrong float64, smooth bool) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	draw := func(tensor *model.Tensor) *eval.Array {
		a := eval.NewArray(domain.Shape(tensor.Axes)...)
		for i := range a.Data {
			a.Data[i] = random.NormFloat64()*0.4 + 0.6
		}
		return a
	}
	at, toward, given := map[string]*eval.Array{}, map[string]*eval.Array{}, map[string]*eval.Array{}
	for _, in := range p.Inputs {
		at[in.Name] = draw(in)
	}
	for _, g := range pass.Given {
		given[g.Name] = draw(g.Of)
	}
	for _, g := range pass.Gradients {
		toward[g.Of.Name] = draw(g.Of)
	}
	loss := func(step float64) float64 {
		inputs := map[string]*eval.Array{}
		for name, a := range at {
			moved := &eval.Array{Shape: a.Shape, Data: append([]float64{}, a.Data...)}
			if v, ok := toward[name]; ok {
				for i := range moved.Data {
					moved.Data[i] += step * v.Data[i]
				}
			}
			inputs[name] = moved
		}
		values := run(t, p, inputs)
		sum := 0.0
		for _, g := range pass.Given {
			for i, v := range values[g.Of.Name].Data {
				sum += v * given[g.Name].Data[i]
			}
		}
		return sum
	}
	slope := func(h float64) float64 {
		return (8*(loss(h)-loss(-h)) - (loss(2*h) - loss(-2*h))) / (12 * h)
	}
	values := run(t, forwardOf(t, pass), at)
	if saturates(p, run(t, p, at)) {
		return 0, false // the gradient of a cast is that of numbers which fit into the type
	}
	inputs := map[string]*eval.Array{}
	for _, in := range q.Inputs {
		if a, ok := given[in.Name]; ok {
			inputs[in.Name] = a
		} else {
			inputs[in.Name] = values[in.Name]
		}
	}
	got, size := 0.0, math.Abs(loss(0))
	gradients := run(t, q, inputs)
	for _, g := range pass.Gradients {
		a, v := gradients[g.Name], toward[g.Of.Name]
		for i := range a.Data {
			got += a.Data[i] * v.Data[i]
			size = math.Max(size, math.Abs(a.Data[i]*v.Data[i]))
		}
	}
	coarse, want := slope(1e-3), slope(2.5e-4)
	size = math.Max(size, math.Abs(want))
	same := func(other float64) bool { return math.Abs(other-want) <= tolerance/4*size } // false for NaN
	if math.IsInf(size, 0) || !same(coarse) || !same(oneSided(loss, 5e-4)) || !same(oneSided(loss, -5e-4)) {
		return 0, false
	}
	return math.Abs(got-want) / size, true
}

// oneSided returns the slope of f at 0 from values on one side. At a kink the two sides differ, which no symmetric
// difference shows.
func oneSided(f func(float64) float64, h float64) float64 {
	return (-25*f(0) + 48*f(h) - 36*f(2*h) + 16*f(3*h) - 3*f(4*h)) / (12 * h)
}

// saturates reports whether a cast replaces a number by the largest one of its type.
func saturates(p *model.Pipeline, values map[string]*eval.Array) bool {
	return slices.ContainsFunc(p.Ops, func(op *model.Op) bool {
		return op.Kind == model.OpCast && op.Out.DType.Saturates() && slices.ContainsFunc(values[op.In[0].Name].Data, func(v float64) bool {
			return math.Abs(v) > op.Out.DType.Row().Largest
		})
	})
}

func run(t *testing.T, p *model.Pipeline, inputs map[string]*eval.Array) map[string]*eval.Array {
	t.Helper()
	values, err := eval.RunFloat64(p, inputs)
	if err != nil {
		t.Fatal(err)
	}
	return values
}
