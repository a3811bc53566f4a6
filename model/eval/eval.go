// Package eval computes a pipeline on one rank. It is the oracle of everything that is generated from a
// pipeline, so it also makes the inputs of checks and says how exact their results are.
package eval

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// Run computes a pipeline on whole tensors, one operation after the other, as if
// there was one rank. Products and reductions accumulate in fp32, in order, and each
// result is rounded to its element type. inputs has an array for every input, which
// is rounded too and not changed. The result has every tensor of the pipeline.
func Run(p *model.Pipeline, inputs map[string]*Array) (map[string]*Array, error) {
	return run[float32](p, inputs, (*Array).Round)
}

// RunFloat64 does the same in float64, without rounding: it tells mistakes from roundings.
func RunFloat64(p *model.Pipeline, inputs map[string]*Array) (map[string]*Array, error) {
	return run[float64](p, inputs, func(*Array, domain.DType) {})
}

// number is what sums accumulate in.
type number interface{ float32 | float64 }

func run[N number](p *model.Pipeline, inputs map[string]*Array, round func(*Array, domain.DType)) (map[string]*Array, error) {
	values := make(map[string]*Array, len(p.Tensors))
	for _, t := range p.Inputs {
		in, ok := inputs[t.Name]
		switch shape := domain.Shape(t.Axes); {
		case !ok:
			return nil, fmt.Errorf("input %s is missing", t.Name)
		case !slices.Equal(in.Shape, shape):
			return nil, fmt.Errorf("input %s has shape %s, not %s", t.Name, domain.FormatShape(in.Shape), domain.FormatShape(shape))
		}
		values[t.Name] = &Array{Shape: in.Shape, Data: slices.Clone(in.Data)}
		round(values[t.Name], t.DType)
	}
	for _, op := range p.Ops {
		in := make([]*Array, len(op.In))
		for i, t := range op.In {
			in[i] = values[t.Name]
		}
		var results []*Array
		if a, attends := domain.AttentionOf(op.Fn); attends {
			results = attention(a, op, in)
		} else {
			results = []*Array{evaluate[N](op, in)}
		}
		for i, t := range op.Results() {
			round(results[i], t.DType)
			values[t.Name] = results[i]
		}
	}
	return values, nil
}

func evaluate[N number](op *model.Op, in []*Array) *Array {
	shape := domain.Shape(op.Out.Axes)
	switch op.Kind {
	case model.OpSet, model.OpCast, model.OpReshape, model.OpBroadcast:
		return &Array{Shape: shape, Data: slices.Clone(in[0].Data)}
	case model.OpSlice:
		return gather(in[0], shape, strides(in[0].Shape), op.Start.Size*strides(in[0].Shape)[op.Axis])
	case model.OpConcat:
		return joined(in, op.Axis, shape)
	case model.OpPositions:
		out := NewArray(shape...)
		for i := range out.Data {
			out.Data[i] = float64(i)
		}
		return out
	case model.OpPermute:
		return permuted(in[0], op.Perm)
	case model.OpMatmul:
		return matmul[N](in[0], in[1], shape)
	case model.OpLinear:
		return linear[N](in, shape)
	case model.OpUnary:
		fn := domain.UnaryFn(op.Fn)
		out := NewArray(shape...)
		for i, v := range in[0].Data {
			out.Data[i] = fn(v)
		}
		return out
	case model.OpBinary:
		return binary(domain.BinaryFns[op.Fn], in[0], in[1], shape)
	case model.OpReduce:
		return reduce[N](op, in[0], shape)
	default:
		panic("eval: unknown operation " + string(op.Kind))
	}
}

func binary(fn func(a, b float64) float64, a, b *Array, shape []int64) *Array {
	a, b = stretched(a, shape), stretched(b, shape)
	for i := range a.Data {
		a.Data[i] = fn(a.Data[i], b.Data[i])
	}
	return a
}

func permuted(in *Array, perm []int) *Array {
	own := strides(in.Shape)
	shape, step := make([]int64, len(perm)), make([]int64, len(perm))
	for i, axis := range perm {
		shape[i], step[i] = in.Shape[axis], own[axis]
	}
	return gather(in, shape, step, 0)
}

// joined puts arrays one after the other along an axis.
func joined(in []*Array, axis int, shape []int64) *Array {
	out := NewArray(shape...)
	run := strides(shape)[axis] // elements behind one of the axis
	whole, start := run*shape[axis], int64(0)
	for _, a := range in {
		part := run * a.Shape[axis]
		for i := range int64(len(a.Data)) / part {
			copy(out.Data[i*whole+start:], a.Data[i*part:(i+1)*part])
		}
		start += part
	}
	return out
}

func reduce[N number](op *model.Op, in *Array, shape []int64) *Array {
	fn := domain.BinaryFns[op.Fn]
	out := NewArray(shape...)
	inner := strides(in.Shape)[op.Axis]
	count := in.Shape[op.Axis]
	for i := range out.Data {
		first := int64(i)/inner*count*inner + int64(i)%inner
		value := in.Data[first]
		for r := int64(1); r < count; r++ {
			value = float64(N(fn(value, in.Data[first+r*inner])))
		}
		out.Data[i] = value
	}
	return out
}

// matmul multiplies matrices: all leading axes of a are rows when b is a matrix, and
// otherwise batches, which stretch.
func matmul[N number](a, b *Array, shape []int64) *Array {
	out := NewArray(shape...)
	k, n := a.last(1), b.last(1)
	rows := int64(len(out.Data)) / n
	if len(b.Shape) > 2 {
		rows = a.last(2)
		batch := shape[:len(shape)-2]
		a = stretched(a, append(slices.Clone(batch), rows, k))
		b = stretched(b, append(slices.Clone(batch), k, n))
	}
	sums := make([]N, n)
	for i := range int64(len(out.Data)) / n {
		clear(sums)
		matrix := b.Data[i/rows*k*n:]
		for j, v := range a.Data[i*k : (i+1)*k] {
			for c, w := range matrix[int64(j)*n : int64(j+1)*n] {
				sums[c] += N(v * w)
			}
		}
		for c, sum := range sums {
			out.Data[i*n+int64(c)] = float64(sum)
		}
	}
	return out
}

// linear multiplies with the transposed weight and adds the bias before the result is
// rounded.
func linear[N number](in []*Array, shape []int64) *Array {
	w := in[1]
	perm := make([]int, len(w.Shape))
	for i := range perm {
		perm[i] = i
	}
	last := len(perm) - 1
	perm[last-1], perm[last] = last, last-1
	out := matmul[N](in[0], permuted(w, perm), shape)
	if len(in) < 3 {
		return out
	}
	bias := in[2]
	if len(bias.Shape) > 1 { // one row per batch
		bias = &Array{Shape: append(slices.Clone(bias.Shape[:last-1]), 1, bias.last(1)), Data: bias.Data}
	}
	return binary(domain.BinaryFns["add"], out, bias, shape)
}
