package interp

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// kernel returns a function that runs a statement that computes, except Positions and Attention. GEMMs and reductions
// accumulate in fp32. A result is rounded to its element type. An unknown statement, or an unknown function of a Unary,
// Binary or Reduce, is an error.
func kernel(s hostir.Stmt, results, in []*view) (func() error, error) {
	switch s := s.(type) {
	case *hostir.TopK:
		return topK(s, results, in[0]), nil
	case *hostir.Fused:
		if s.FoldsColumns() {
			return foldedColumns(s, results[0], in), nil
		}
		return fused(s, results, in), nil
	}
	out, dtype := results[0], hostir.Result(s).DType
	if hostir.Is[*hostir.Reshape](s) {
		return func() error {
			values, i := in[0].read().Data, 0
			out.each(func(at int64) { out.data[at] = dtype.Round(values[i]); i++ })
			return nil
		}, nil
	}
	if scaled, ok := s.(*hostir.BlockLinear); ok {
		return blockLinear(scaled, out, in), nil
	}
	if ranges := hostir.Ranges(s); ranges != nil {
		return taken(s, ranges, out, in), nil
	}
	element, err := elementFn(s, in)
	if err != nil {
		return nil, err
	}
	strides, start := [][]int64{out.Stride}, []int64{out.Offset}
	for i, row := range hostir.AxisMap(s) {
		strides = append(strides, along(in[i], row, out))
		start = append(start, in[i].Offset)
	}
	round := dtype.Round
	if hostir.Is[*hostir.Cast](s) {
		round = dtype.Convert
	}
	return func() error {
		walk(out.Size, strides, start, func(at []int64) { out.data[at[0]] = round(element(at[1:])) })
		return nil
	}, nil
}

// kernel returns a function that runs any statement that computes, on this rank.
func (r *rank) kernel(s hostir.Stmt, results, in []*view) (func() error, error) {
	if a, ok := s.(*hostir.Attention); ok {
		return attention(a, a.Shape(false, r.coordinate), results, in), nil
	}
	out := results[0]
	p, ok := s.(*hostir.Positions)
	if !ok {
		return kernel(s, results, in)
	}
	first := int64(0)
	for _, a := range p.Out.Axes {
		if over := hostir.SplitOver(a); over != "" {
			first = int64(p.Out.Mesh.Coordinate(r.number, over)) * max(p.Step.Size, 1)
		}
	}
	return func() error {
		at := first
		out.each(func(i int64) { out.data[i] = float64(at); at++ })
		return nil
	}, nil
}

// taken returns a function that runs a Slice or a Concat: it copies the given ranges of the operands.
func taken(s hostir.Stmt, ranges []hostir.Range, out *view, in []*view) func() error {
	dtype, rows := hostir.Result(s).DType, hostir.AxisMap(s)
	return func() error {
		for i, r := range ranges {
			from, to := in[i].from(r.InAxis, r.From, r.Size), out.from(r.OutAxis, r.To, r.Size)
			strides := along(from, rows[i], to)
			strides[r.OutAxis] = from.Stride[r.InAxis]
			walk(to.Size, [][]int64{to.Stride, strides}, []int64{to.Offset, from.Offset}, func(at []int64) {
				out.data[at[0]] = dtype.Round(in[i].data[at[1]])
			})
		}
		return nil
	}
}

// fused returns a function that computes a fused kernel that does not reduce along columns, row by row.
func fused(s *hostir.Fused, results, in []*view) func() error {
	out, columns := results[0], s.Columns()
	outer, apart := slices.Clone(out.Size), make([]int64, len(results)) // apart: strides of columns; 0: one column
	counts := slices.Repeat([]int64{1}, len(results))                   // elements of a row of each result
	wide := s.WideSteps()
	if last := lastAxis(s.Out[0]); last >= 0 && !s.FoldsRows() {
		outer[last] = 1
		for i, t := range s.Out {
			if wide[s.Body.Results()[i]] {
				apart[i], counts[i] = results[i].Stride[lastAxis(t)], results[i].Size[lastAxis(t)]
			}
		}
	}
	strides, start, steps := [][]int64{out.Stride}, []int64{out.Offset}, make([]int64, len(in))
	for i, row := range hostir.AxisMap(s) {
		strides, start = append(strides, along(in[i], row, out)), append(start, in[i].Offset)
		if last := lastAxis(s.In[i]); last >= 0 && in[i].Size[last] > 1 {
			steps[i] = in[i].Stride[last]
		}
	}
	others := len(strides) - 1
	for i, t := range s.Out[1:] { // each result has the first one's axes, maybe without the last, and may list reduced axes elsewhere
		own := make([]int64, len(outer))
		for k, axis := range hostir.Live(t) {
			own[hostir.Live(s.Out[0])[k]] = results[i+1].Stride[axis]
		}
		strides, start = append(strides, own), append(start, results[i+1].Offset)
	}
	counted := len(strides) // the offsets from here on are the indices along the axes of the result
	for axis := range outer {
		index := make([]int64, len(outer))
		index[axis] = 1
		strides, start = append(strides, index), append(start, 0)
	}
	return func() error {
		walk(outer, strides, start, func(at []int64) {
			rows := make([][]float64, len(in))
			for i, v := range in {
				rows[i] = []float64{v.data[at[i+1]]}
				for c := int64(1); c < columns && steps[i] != 0; c++ {
					rows[i] = append(rows[i], v.data[at[i+1]+c*steps[i]])
				}
			}
			values := s.Body.Row(rows, columns, func(back int) int64 { return at[counted+s.Along(back)] })
			for i, made := range s.Body.Results() {
				to := at[0]
				if i > 0 {
					to = at[others+i]
				}
				for c := range counts[i] {
					results[i].data[to+c*apart[i]] = s.Out[i].DType.Convert(domain.Stored(values[len(in)+made], c, counts[i]))
				}
			}
		})
		return nil
	}
}

// lastAxis returns the axis along which rows run, or Unmapped.
func lastAxis(t *hostir.Tensor) int {
	if live := hostir.Live(t); len(live) > 0 {
		return live[len(live)-1]
	}
	return hostir.Unmapped
}

// along returns an operand's stride for each axis of the result. The stride is 0 if the operand lacks the axis, or has
// one element there that is broadcast.
func along(in *view, row []int, out *view) []int64 {
	strides := make([]int64, len(out.Size))
	for i, j := range row {
		if j != hostir.Unmapped && in.Size[i] > 1 {
			strides[j] = in.Stride[i]
		}
	}
	return strides
}

// elementFn returns the function that computes one element of the result from the offsets of the operands.
func elementFn(s hostir.Stmt, in []*view) (func(at []int64) float64, error) {
	switch s := s.(type) {
	case *hostir.Set, *hostir.Cast, *hostir.Broadcast, *hostir.Permute:
		return func(at []int64) float64 { return in[0].data[at[0]] }, nil
	case *hostir.Unary:
		fn := domain.UnaryFn(s.Fn)
		if fn == nil {
			return nil, fmt.Errorf("there is no function %q", s.Fn)
		}
		return func(at []int64) float64 { return fn(in[0].data[at[0]]) }, nil
	case *hostir.Binary:
		fn := domain.BinaryFn(s.Fn)
		if fn == nil {
			return nil, fmt.Errorf("there is no function %q", s.Fn)
		}
		return func(at []int64) float64 { return fn(in[0].data[at[0]], in[1].data[at[1]]) }, nil
	case *hostir.Gather:
		return gathered(s, in), nil
	case *hostir.Reduce:
		return reduction(s, in[0])
	case *hostir.Matmul:
		return product(s, s.A, s.B, 2, in), nil
	case *hostir.Linear:
		return product(s, s.X, s.W, 1, in), nil
	default:
		return nil, fmt.Errorf("the interpreter does not know %s", hostir.Op(s))
	}
}

// gathered returns the function for one element of a Gather.
func gathered(s *hostir.Gather, in []*view) func(at []int64) float64 {
	count, step := in[0].Size[s.Axis], in[0].Stride[s.Axis]
	return func(at []int64) float64 {
		row := in[1].data[at[1]]
		if s.First != nil {
			row -= in[2].data[at[2]]
		}
		if row >= 0 && row < float64(count) {
			return in[0].data[at[0]+int64(row)*step]
		}
		return 0 * row // zero, but NaN if the row number is NaN because it is not written yet
	}
}

func reduction(s *hostir.Reduce, in *view) (func(at []int64) float64, error) {
	fn := domain.BinaryFn(s.Fn)
	if fn == nil {
		return nil, fmt.Errorf("there is no function %q", s.Fn)
	}
	count, step := in.Size[s.Axis], in.Stride[s.Axis]
	return func(at []int64) float64 {
		value := in.data[at[0]]
		for i := int64(1); i < count; i++ {
			value = float64(float32(fn(value, in.data[at[0]+i*step])))
		}
		return value
	}, nil
}

// product returns the function for one element of a GEMM. It sums over the last axis of x and over an axis of y, adds
// the other operands, and applies the epilogue. fromEnd is the number of the axis of y, counted from 1 at its last axis.
func product(s hostir.Stmt, x, y *hostir.Tensor, fromEnd int, in []*view) func(at []int64) float64 {
	a, b := hostir.Live(x), hostir.Live(y)
	i, j := a[len(a)-1], b[len(b)-fromEnd]
	count, stepX, stepY := in[0].Size[i], in[0].Stride[i], in[1].Stride[j]
	then := domain.Epilogue(hostir.Epilogue(s))
	return func(at []int64) float64 {
		sum := float32(0)
		for k := range count {
			sum += float32(in[0].data[at[0]+k*stepX] * in[1].data[at[1]+k*stepY])
		}
		value := float64(sum)
		for i := 2; i < len(in); i++ {
			value += in[i].data[at[i]]
		}
		return then(value)
	}
}
