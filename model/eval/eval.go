// Package eval computes a pipeline on whole tensors. It is the reference for the programs that are generated from a
// pipeline, so it also makes the inputs of checks and computes the tolerances of results.
package eval

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// Run computes a pipeline on whole tensors, one operation after the other, as if there were one rank. GEMMs and
// reductions accumulate in fp32, in order, attentions compute in float64, and each result is rounded to its element type.
// inputs must have an array of the right shape for every input; otherwise Run returns an error. Run rounds a copy of each.
// The result has every tensor of the pipeline.
func Run(p *model.Pipeline, inputs map[string]*Array) (map[string]*Array, error) {
	return RunIn(p, inputs, singles)
}

// RunFloat64 is Run in float64, without rounding. Only fp8 values are limited to the range of their type, and results
// of integer types are converted to integers. A comparison with these values distinguishes errors from rounding.
func RunFloat64(p *model.Pipeline, inputs map[string]*Array) (map[string]*Array, error) {
	return RunIn(p, inputs, doubles)
}

// RunFloat64InBytes is RunFloat64, but rounds results of 8 bits, as every program does.
func RunFloat64InBytes(p *model.Pipeline, inputs map[string]*Array) (map[string]*Array, error) {
	n := doubles
	n.Round = func(a *Array, dtype domain.DType) {
		if dtype.IsInteger() || dtype.Saturates() {
			a.Round(dtype)
		}
	}
	return RunIn(p, inputs, n)
}

// RunIn is Run in the arithmetic n.
func RunIn(p *model.Pipeline, inputs map[string]*Array, n Numbers) (map[string]*Array, error) {
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
		n.Round(values[t.Name], t.DType)
	}
	n.evaluateAll(p.Ops, values)
	return values, nil
}

// evaluateAll evaluates operations in order and adds their results to values, which has arrays by the names of tensors.
func (n Numbers) evaluateAll(ops []*model.Op, values map[string]*Array) {
	for _, op := range ops {
		in := lists.Map(op.In, func(t *model.Tensor) *Array { return values[t.Name] })
		var results []*Array
		if a, attends := domain.AttentionOf(op.Fn); attends {
			results = attention(n, a, op, in)
		} else {
			results = []*Array{n.evaluate(op, in)}
		}
		for i, t := range op.Results() {
			n.Round(results[i], t.DType)
			values[t.Name] = results[i]
		}
	}
}

func (n Numbers) evaluate(op *model.Op, in []*Array) *Array {
	shape := domain.Shape(op.Out.Axes)
	switch op.Kind {
	case model.OpCast:
		out := &Array{Shape: shape, Data: slices.Clone(in[0].Data)}
		if op.Out.DType.IsInteger() {
			n.Round(out, op.Out.DType)
		}
		return out
	case model.OpSet, model.OpReshape, model.OpBroadcast:
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
		return n.matmul(in[0], in[1], shape)
	case model.OpLinear:
		return n.linear(in, shape)
	case model.OpBlockLinear:
		return n.blockLinear(in, shape)
	case model.OpUnary:
		fn := n.Unary(op.Fn)
		out := NewArray(shape...)
		for i, v := range in[0].Data {
			out.Data[i] = fn(v)
		}
		return out
	case model.OpBinary:
		return binary(n.Binary(op.Fn), in[0], in[1], shape)
	case model.OpDropout:
		return n.dropout(op, in, shape)
	case model.OpGather:
		return n.rows(op, in, shape)
	case model.OpReduce:
		return n.reduce(op, in[0], shape)
	default:
		panic("eval: unknown operation " + string(op.Kind))
	}
}

func binary(fn func(a, b float64) float64, a, b *Array, shape []int64) *Array {
	a, b = stretched(a, shape), stretched(b, shape)
	out := NewArray(shape...)
	for i := range out.Data {
		out.Data[i] = fn(a.Data[i], b.Data[i])
	}
	return out
}

func (n Numbers) dropout(op *model.Op, in []*Array, shape []int64) *Array {
	d, _ := domain.DropoutOf(op.Fn)
	fn := n.Dropout(d)
	out, operands, values := NewArray(shape...), make([]*Array, len(in)), make([]float64, len(in))
	for i, a := range in {
		operands[i] = stretched(a, shape)
	}
	for at := range out.Data {
		for i, a := range operands {
			values[i] = a.Data[at]
		}
		out.Data[at] = fn(values)
	}
	return out
}

func permuted(in *Array, perm []int) *Array {
	own := strides(in.Shape)
	shape, step := make([]int64, len(perm)), make([]int64, len(perm))
	for i, axis := range perm {
		shape[i], step[i] = in.Shape[axis], own[axis]
	}
	return gather(in, shape, step, 0)
}

// joined concatenates arrays along an axis.
func joined(in []*Array, axis int, shape []int64) *Array {
	out := NewArray(shape...)
	run := strides(shape)[axis] // elements per index of the axis
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

func (n Numbers) reduce(op *model.Op, in *Array, shape []int64) *Array {
	fn := n.Binary(op.Fn)
	out := NewArray(shape...)
	inner := strides(in.Shape)[op.Axis]
	count := in.Shape[op.Axis]
	for i := range out.Data {
		first := int64(i)/inner*count*inner + int64(i)%inner
		value := in.Data[first]
		for r := int64(1); r < count; r++ {
			value = fn(value, in.Data[first+r*inner])
		}
		out.Data[i] = value
	}
	return out
}

// matmul multiplies matrices. If b is a matrix, all axes of a except the last are rows. Otherwise the leading axes of a and
// b are batches, which stretch.
func (n Numbers) matmul(a, b *Array, shape []int64) *Array {
	out := NewArray(shape...)
	k, columns := a.last(1), b.last(1)
	rows, left, right := int64(len(out.Data))/columns, []float64{0}, []float64{0}
	if len(b.Shape) > 2 {
		rows = a.last(2)
		batch := shape[:len(shape)-2]
		left, right = matrices(a, batch), matrices(b, batch)
	}
	for i := range int64(len(out.Data)) / columns {
		sums := out.Data[i*columns : (i+1)*columns]
		row := int64(left[i/rows])*rows + i%rows
		matrix := b.Data[int64(right[i/rows])*k*columns:]
		for j, v := range a.Data[row*k : (row+1)*k] {
			n.AddProducts(sums, v, matrix[int64(j)*columns:int64(j+1)*columns])
		}
	}
	return out
}

// matrices returns, for each batch, the index of its matrix in in.
func matrices(in *Array, batch []int64) []float64 {
	own := NewArray(in.Shape[:max(len(in.Shape)-2, 0)]...)
	for i := range own.Data {
		own.Data[i] = float64(i)
	}
	return stretched(own, batch).Data
}

// linear multiplies with the transposed weight, and adds the bias, if there is one, before the result is rounded.
func (n Numbers) linear(in []*Array, shape []int64) *Array {
	w := in[1]
	last := len(w.Shape) - 1
	out := n.matmul(in[0], permuted(w, turned(last+1)), shape)
	if len(in) < 3 {
		return out
	}
	bias := in[2]
	if len(bias.Shape) > 1 { // one row per batch
		bias = &Array{Shape: append(slices.Clone(bias.Shape[:last-1]), 1, bias.last(1)), Data: bias.Data}
	}
	return binary(n.Binary("add"), out, bias, shape)
}
