package soak

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// focused adds count operations that read v, each by a random function of list. It adds fewer if these fail too often.
func (g *generator) focused(v *value, count int, list ...func(*generator) bool) {
	known := g.known
	for tries := 10 * count; count > 0 && tries > 0; tries-- {
		g.known = []*value{v}
		if pick(g, list...)(g) {
			count--
		}
		known = append(known, g.known[1:]...)
	}
	g.known = known
}

// oddView makes a view that begins at an odd element, sometimes reshapes it, and reads it.
func (g *generator) oddView() {
	rows, columns := pick[int64](g, 2, 3, 4, 5, 8), pick[int64](g, 2, 4, 8, 8, 9, 16)
	g.extents = append(g.extents, rows, columns)
	before, after := 1+2*g.Int64N(4), g.Int64N(4)
	switch g.IntN(5) {
	case 0: // a matrix in a flat buffer
		v := g.cutOut(nil, before, rows*columns, after, nil)
		shape := []int64{rows, columns}
		if g.chance(0.3) {
			shape = []int64{1, rows, columns}
		}
		g.readView(g.reshaped(v, shape))
	case 1: // a vector
		g.readVector(g.cutOut(nil, before, columns, after, nil))
	case 2: // columns
		v := g.cutOut([]int64{rows}, before, columns, after, nil)
		g.readView(v)
	case 3: // rows of an odd number of elements, in slices
		g.readView(g.cutOut([]int64{g.extent()}, before, rows, after, []int64{pick[int64](g, 3, 5, 9)}))
	default: // the second operand of a concat has an odd offset in the result
		a, b := g.inputOf([]int64{rows, before}, g.spec.DType, g.spec.World), g.inputOf([]int64{rows, columns}, g.spec.DType, g.spec.World)
		made := g.result(on(pick(g, "neg", "relu"), b), b.axes, b)
		op := g.along("concat", 1, a, made)
		g.readView(g.result(op, []domain.Axis{made.axes[0], serialAxis(before + columns)}, b))
	}
}

// cutOut takes size elements of the axis between outer and inner axes, by a slice or a split, with other elements
// before and after.
func (g *generator) cutOut(outer []int64, before, size, after int64, inner []int64) *value {
	at := len(outer)
	in := g.inputOf(slices.Concat(outer, []int64{before + size + after}, inner), g.spec.DType, g.spec.World)
	if in.axes[at].Kind != domain.Serial {
		in.axes[at] = serialAxis(in.axes[at].Size)
		g.redeclare(in, in.axes)
	}
	axes := slices.Clone(in.axes)
	axes[at].Size = size
	attr := g.axisAttr(at, len(axes))
	if after == 0 || g.chance(0.5) {
		return g.result(on("slice", in).with(attr, number("start", before), number("size", size)), axes,
			in)

	}
	first, last := slices.Clone(axes), slices.Clone(axes)
	first[at].Size, last[at].Size = before, after
	g.result(on("split", in).with(attr, listed("sizes", []int64{before, size, after})), first,
		in)

	v := g.further(axes, in)
	g.further(last, in)
	return v
}

// reshaped reshapes a tensor to a shape without Device and Stream axes.
func (g *generator) reshaped(v *value, shape []int64) *value {
	return g.result(on("reshape", v).with(listed("shape", shape)), serialAxes(nil, shape...),
		v)

}

// readView reads a view of two or more axes: as an operand of a matmul or an attention, in a kernel, or on other ranks.
func (g *generator) readView(v *value) {
	shape := v.shape()
	switch n, use := len(shape), g.Float64(); {
	case n == 2 && use < 0.2: // as the second operand of a matmul
		a := g.inputLike([]int64{g.extent(), shape[0]}, v)
		g.add(on("matmul", a, v), []domain.Axis{a.axes[0], v.axes[1]}, v)
	case n == 2 && use < 0.36: // as the weight of a linear
		a := g.inputLike([]int64{g.extent(), shape[1]}, v)
		g.add(on("linear", a, v), []domain.Axis{a.axes[0], v.axes[0]}, v)
	case n > 2 && use < 0.4:
		g.focused(v, 1, (*generator).attention)
	default:
		g.focused(v, 1+g.IntN(2), (*generator).matmul, (*generator).linear, (*generator).binary, (*generator).unary, (*generator).composite,
			(*generator).reduce, (*generator).set, (*generator).permute)
	}
}

// readVector reads a view of one axis: as a bias, a weight of a norm, in a kernel, or on other ranks.
func (g *generator) readVector(v *value) {
	n := v.shape()[0]
	switch {
	case g.chance(0.4):
		k := g.extent()
		x, w := g.inputLike([]int64{g.extent(), k}, v), g.inputLike([]int64{n, k}, v)
		g.add(on("linear", x, w, v), []domain.Axis{x.axes[0], w.axes[0]}, v)
	case g.chance(0.3):
		x := g.inputLike([]int64{g.extent(), n}, v)
		g.add(on(pick(g, "rms_norm", "mul", "add", "sub"), x, v), x.axes, v)
	default:
		g.focused(v, 1+g.IntN(2), (*generator).binary, (*generator).unary, (*generator).set, (*generator).dropout)
	}
}

// unevenExtents chooses extents, at least one of them above 8 and no multiple of 8. It begins with matmuls, reductions
// and elementwise operations on an input of such extents.
func (g *generator) unevenExtents() {
	g.extents = []int64{1, pick[int64](g, 9, 10, 12, 17, 20), pick[int64](g, 3, 5, 7, 9, 10, 12, 17, 20), pick[int64](g, 8, 16, 24),
		g.spec.World.Axes[0].Size}
	v := g.input(append(g.shape(1+g.IntN(2)), pick(g, g.extents[1:4]...)))
	g.focused(v, 1+g.IntN(2), (*generator).matmul, (*generator).linear, (*generator).composite, (*generator).binary, (*generator).reduce)
}

// maxOfRankSums sums over ranks, sometimes next to a mesh axis of one rank, and applies a maximum or another function
// to the sum.
func (g *generator) maxOfRankSums() {
	sum := g.rankSum()
	alone := sum.axes[0].Kind == domain.Device // along a mesh axis of one rank
	for range pick(g, 1, 1, 2) {
		fn := pick(g, "max", "max", "min")
		if at := g.IntN(2); g.chance(0.6) {
			if alone && g.chance(0.7) {
				at = 0
			}
			op := g.along(fn, at, sum)
			g.add(op, lists.Without(sum.axes, at), sum)
			continue
		}
		ofTwo := func(g *generator) bool {
			g.add(on(fn, sum, g.partner(sum)), sum.axes, sum)
			return true
		}
		g.focused(sum, 1, ofTwo, (*generator).unary, (*generator).binary)
	}
}

// rankSum makes a sum over ranks with three axes: a matmul over an axis of one element per rank, or a reduction. About
// half of the sums have one element in the outermost axis, split over a mesh axis of one rank.
func (g *generator) rankSum() *value {
	m := &g.spec.World
	over := m.Axes[0].device()
	axes := serialAxes(nil, g.extent(), g.extent(), g.extent())
	declared := g.chance(0.3)
	if g.chance(0.5) && len(m.Axes) < 3 {
		one := MeshAxis{[]string{"x", "y", "z"}[len(m.Axes)], 1}
		m.Axes, declared = append(m.Axes, one), true
		axes[0] = domain.Axis{Kind: domain.Device, Mesh: one.Name, Extent: domain.Extent{Size: 1}}
	}
	in, op := []domain.Axis{over, serialAxis(axes[0].Size), axes[1], axes[2]}, on("sum").with(g.axisAttr(0, 4))
	if g.chance(0.6) {
		in, op = []domain.Axis{in[1], axes[1], over}, on("matmul")
	}
	first := g.laid(in, *m)
	op.In = []string{first.name}
	if op.Fn == "matmul" {
		op.read(g.laid([]domain.Axis{over, axes[2]}, *m))
	}
	sum := g.result(op, axes, first)
	if declared {
		g.declare(sum, sum.axes)
	}
	return sum
}

// sharedSum makes a sum of few parts that several operations read. One of them may be split over the ranks, so that
// each rank reads only its part of the sum.
func (g *generator) sharedSum() { g.sharedSumOf(false) }

// sharedListedSum is like sharedSum, but the sum is declared and lists the reduced axis.
func (g *generator) sharedListedSum() { g.sharedSumOf(true) }

func (g *generator) sharedSumOf(listed bool) {
	shape, ranks := g.shape(1+g.IntN(2)), g.spec.World.Axes[0]
	if g.chance(0.6) {
		shape[g.IntN(len(shape))] = ranks.Size // an extent that can be split over the ranks
	}
	at := 0
	if listed && g.chance(0.7) {
		shape = slices.Insert(shape, 0, 1) // the parts are contiguous, after an axis of one element
		at = 1
	}
	parts := 2 + g.Int64N(3)
	in := g.laid(serialAxes(nil, slices.Insert(slices.Clone(shape), at, parts)...), g.spec.World)
	sum := g.result(g.along("sum", at, in), serialAxes(nil, shape...),
		in)

	if listed {
		g.declare(sum, sum.axes)
		list := &g.spec.Tensors[len(g.spec.Tensors)-1].Axes
		*list = slices.Insert(*list, at, reduced(domain.Extent{Size: parts}))
		g.result(on(pick(g, "relu", "neg"), sum), sum.axes, sum) // a kernel reads it first
		g.focused(sum, 1, (*generator).set, (*generator).permute, (*generator).broadcast)
	}
	if split := slices.Index(shape, ranks.Size); !listed && split >= 0 && g.chance(0.5) { // each rank first reads its part
		axes := slices.Clone(sum.axes)
		axes[split].Place(domain.Device, ranks.Name)
		g.laidResult(on(pick(g, "relu", "neg"), sum), axes, sum)
	}
	if g.chance(0.4) {
		g.readWithView(sum)
	}
	g.focused(sum, 2+g.IntN(2), (*generator).unary, (*generator).constant, (*generator).binary, (*generator).set)
}

// readWithView reads a tensor and a view of it in operations that become one kernel.
func (g *generator) readWithView(v *value) {
	changed := g.result(on(pick(g, "relu", "neg"), v), v.axes, v)
	view := g.result(on("permute", v).with(permutation(lists.Numbers(len(v.axes)))), v.axes, v)
	g.result(on(pick(g, "max", "min"), changed, view), v.axes, v)
}

// reshapedKernels reshapes what a kernel computes, and reads the result in another kernel.
func (g *generator) reshapedKernels() {
	newest := func() *value { return g.known[len(g.known)-1] }
	g.input(nil)
	for range 1 + g.IntN(3) {
		g.focused(newest(), 1, (*generator).unary, (*generator).binary, (*generator).composite, (*generator).constant)
	}
	for range 1 + g.IntN(2) {
		g.focused(newest(), 1, (*generator).reshape)
	}
	g.focused(newest(), 1+g.IntN(2), (*generator).unary, (*generator).binary, (*generator).composite, (*generator).reduce)
}

// headsOverRanks begins with an attention whose queries have blocks of heads. rowsOverRanks uses blocks of rows.
func (g *generator) headsOverRanks() { g.attentionOf(g.inBlocks(), domain.SplitHeads) }
func (g *generator) rowsOverRanks()  { g.attentionOf(g.inBlocks(), domain.SplitRows) }

// scatteredSlices sums over ranks and splits a Stream axis of the operand over them, while the result has another
// Stream axis. The operand is an input or a view of one.
func (g *generator) scatteredSlices() {
	ranks := g.spec.World.Axes[0]
	over := ranks.device()
	scattered, own := over, serialAxis(g.extent())
	scattered.Place(domain.Stream, "")
	axes := []domain.Axis{own, over, scattered, serialAxis(g.extent())}
	in := g.laid(slices.Clone(axes), g.spec.World)
	if g.chance(0.5) {
		in.axes[2].Kind = domain.Serial
		g.spec.Tensors[g.spec.declared(in.name)].Axes[2].Kind = domain.Serial
		in = g.laidResult(on("permute", in).with(permutation(lists.Numbers(4))), axes, in)
	}
	own.Kind = domain.Stream
	g.laidResult(g.along("sum", 1, in), []domain.Axis{own, over, axes[3]}, in)
}

// sumOfRows reduces the result of a kernel over all its rows. Another operation may read that result too, and a
// pipeline may run along its columns.
func (g *generator) sumOfRows() {
	in := g.laid(serialAxes(nil, pick[int64](g, 2, 3, 4, 9), pick[int64](g, 2, 3, 4, 8, 12)), g.spec.World)
	made := g.result(on(pick(g, "relu", "neg"), in), in.axes, in)
	if g.chance(0.7) { // declared whole, so that the pipeline of the sum does not include it
		g.declare(made, made.axes)
	}
	if g.chance(0.5) {
		g.focused(made, 1, (*generator).unary, (*generator).constant)
	}
	columns := slices.Clone(made.axes[1:])
	sum := g.result(g.along(pick(g, "sum", "sum", "max"), 0, made), columns,
		made)

	if g.chance(0.4) {
		sum.axes = g.placed(sum.shape(), sum.mesh, 0.2, 0.8)
		g.declare(sum, sum.axes)
		g.listReduced(sum, reduced(made.axes[0].Extent), 0)
	}
}
