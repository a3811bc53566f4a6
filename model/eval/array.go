package eval

import (
	"fmt"
	"math"
	"slices"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// Array has the values of a tensor, row-major. Shape has the extents of its axes, without reduction axes.
type Array struct {
	Shape []int64
	Data  []float64
}

// NewArray makes an array of zeros. It panics if the shape is too large to evaluate.
func NewArray(shape ...int64) *Array {
	n, ok := domain.Elements(shape)
	if !ok || n > math.MaxInt32 {
		panic(fmt.Sprintf("eval: an array of shape %s is too large to evaluate", domain.FormatShape(shape)))
	}
	return &Array{Shape: shape, Data: make([]float64, n)}
}

// last returns the extent of the i-th axis from the end. The last axis has i = 1.
func (a *Array) last(i int) int64 { return a.Shape[len(a.Shape)-i] }

// Round converts every element to the element type, as domain.DType.Convert does.
func (a *Array) Round(dtype domain.DType) {
	for i, v := range a.Data {
		a.Data[i] = dtype.Convert(v)
	}
}

// strides returns the strides of a row-major shape, in elements.
func strides(shape []int64) []int64 {
	s := make([]int64, len(shape))
	step := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		s[i] = step
		step *= shape[i]
	}
	return s
}

// gather reads in through a strided view: element [i, j, ...] of the result, which
// has the given shape, is in.Data[offset + i*step[0] + j*step[1] + ...].
func gather(in *Array, shape, step []int64, offset int64) *Array {
	out := NewArray(shape...)
	if len(out.Data) == 0 {
		return out
	}
	last := len(shape) - 1
	if last < 0 {
		out.Data[0] = in.Data[offset]
		return out
	}
	index := make([]int64, len(shape))
	run, apart := shape[last], step[last]
	at := offset
	for data := out.Data; len(data) > 0; data = data[run:] {
		if apart == 1 {
			copy(data[:run], in.Data[at:])
		} else {
			for i, from := int64(0), at; i < run; i, from = i+1, from+apart {
				data[i] = in.Data[from]
			}
		}
		for d := last - 1; d >= 0; d-- {
			index[d]++
			at += step[d]
			if index[d] < shape[d] {
				break
			}
			at -= index[d] * step[d]
			index[d] = 0
		}
	}
	return out
}

// stretched returns in, stretched to a shape, with axes aligned at the end. The result may be in itself, so callers
// must not write to it.
func stretched(in *Array, shape []int64) *Array {
	if slices.Equal(in.Shape, shape) {
		return in
	}
	own := strides(in.Shape)
	step := make([]int64, len(shape))
	offset := len(shape) - len(in.Shape)
	for i, extent := range in.Shape {
		if extent > 1 {
			step[offset+i] = own[i]
		}
	}
	return gather(in, shape, step, 0)
}

// Shard returns the shard of a tensor on a world rank: along each Device axis, the element at the rank's coordinate on the
// mesh axis. It returns false for a rank outside the tensor's mesh.
func Shard(t *model.Tensor, whole *Array, rank int) (*Array, bool) {
	step := strides(whole.Shape)
	shape := make([]int64, 0, len(whole.Shape))
	offset := int64(0)
	for i, axis := range domain.WithoutReductions(t.Axes) {
		shape = append(shape, axis.LocalSize())
		if axis.Kind == domain.Device {
			offset += step[i] * int64(t.Mesh.Coordinate(rank, axis.Mesh))
		}
	}
	if t.Mesh.Coordinate(rank, t.Mesh.Axes[0].Name) < 0 {
		return nil, false
	}
	return gather(whole, shape, step, offset), true
}
