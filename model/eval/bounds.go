package eval

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

const (
	// spread is about six standard deviations of the difference between two correct results with one rounding each, in
	// units of the element type's epsilon.
	spread = 2
	// chopped is the factor by which a sum of products may lose more than a rounded sum, because tensor cores truncate.
	chopped = 4
	// narrow is the error of a sum of products of fp8 numbers, relative to the root of the sum of the squared products. Tensor
	// cores add these products in fewer bits than fp32 has. On Hopper, sums of 256 products of normally distributed numbers had
	// errors of up to 2^-12.6 of the sum of their absolute values, about 2^-9.2 of that root. Longer sums had smaller errors.
	narrow = 0x1p-8
)

// Bounds evaluates a pipeline as Run does. For each element of each tensor it also bounds the difference between this
// value and the result of a correct program. A bound is 0 where rounding cannot change the element. It is infinite where
// rounding may lead to any value, for example near a pole.
//
// It propagates the bounds through the operations. Rounding errors count as independent, and add up as in a random
// walk. The error of a sum consists of the independent errors of its terms, their common relative error, as after a
// division by one number, and its own rounding: in fp32, and once for each rank in the element type. An elementwise
// function is evaluated at the ends of its operands' bounds. Such bounds grow faster than errors do, so tighten scales
// them by the result of a second evaluation with other rounding errors. DeviceReference does the same in emitted
// programs.
func Bounds(p *model.Pipeline, inputs map[string]*Array) (values, bounds map[string]*Array, err error) {
	if values, err = Run(p, inputs); err != nil {
		return nil, nil, err
	}
	b := &bounder{rand.New(rand.NewPCG(1, 2)), float64(p.Meshes[0].Size()), map[*model.Tensor]*bounded{}} //nolint:gosec // no secret
	for _, t := range p.Inputs {
		b.known[t] = &bounded{value: values[t.Name], other: values[t.Name], bound: NewArray(domain.Shape(t.Axes)...)} // no errors
	}
	for _, op := range p.Ops {
		b.operation(op, values)
	}
	bounds = make(map[string]*Array, len(p.Tensors))
	for t, known := range b.known {
		known.overflow(t.DType)
		known.tighten()
		bounds[t.Name] = known.bound
	}
	return values, bounds, nil
}

// bounded has the values of a tensor, and bounds of their errors.
type bounded struct {
	value, bound *Array
	other        *Array // value of a second evaluation, with other rounding errors
	rounds       bool   // this tensor, or one that it depends on, is rounded to fewer bits than fp32 has
	jumps        bool   // rounding may change a mask or index that it depends on, which a second evaluation may not show
	samples      int    // how many elements have independent errors; the other elements repeat these errors
}

type bounder struct {
	*rand.Rand
	ranks float64
	known map[*model.Tensor]*bounded
}

func (b *bounder) operation(op *model.Op, values map[string]*Array) {
	var in, other, e []*Array
	rounds, jumps, samples := false, false, 0
	for _, t := range op.In {
		k := b.known[t]
		samples += k.samples
		in, other, e = append(in, k.value), append(other, k.other), append(e, k.bound)
		rounds, jumps = rounds || k.rounds, jumps || k.jumps
	}
	if op.Kind == model.OpBlockLinear {
		b.blockLinear(op, values)
		return
	}
	var raw, others, made []*Array
	switch _, attends := domain.AttentionOf(op.Fn); {
	case op.Kind == model.OpGather:
		b.gather(op, in, values[op.Out.Name])
		return
	case op.Kind.Moves():
		bound := doubles.evaluate(op, e)
		b.known[op.Out] = &bounded{values[op.Out.Name], bound, doubles.evaluate(op, other), rounds, jumps, min(samples, len(bound.Data))}
		return
	case attends:
		raw, others, made = b.shaken(op, in, other, e)
	case isProduct(op) || op.Kind == model.OpReduce && op.Fn == "sum":
		raw, others, made = b.added(op, in, other, e)
	default:
		value, bound, jumped := varied(op, in, e)
		raw, others, made = []*Array{value}, []*Array{doubles.evaluate(op, other)}, []*Array{bound}
		jumps = jumps || jumped
		// Passes may distribute any fold over ranks, and NCCL may drop NaN.
		if op.Kind == model.OpReduce && b.ranks > 1 && domain.FoldOf(op.Fn).DropsNaN() {
			made[0] = combined(value, bound, func(v, e float64) float64 { return choose(v != v, math.Inf(1), e) })
		}
	}
	for i, t := range op.Results() {
		rounds = rounds || t.DType.Epsilon() > domain.FP32.Epsilon()
		own := len(raw[i].Data)
		if chooses(op) {
			own = min(samples, own)
		}
		b.known[t] = &bounded{values[t.Name], rounded(t.DType, raw[i], made[i], keptBy(op)), others[i], rounds, jumps, own}
	}
}

// gather bounds the rows of a table. A row whose number is not certain may have any values.
func (b *bounder) gather(op *model.Op, in []*Array, value *Array) {
	table, ids := b.known[op.In[0]], b.known[op.In[1]]
	of := func(table *Array) *Array { return doubles.evaluate(op, append([]*Array{table}, in[1:]...)) }
	k := &bounded{value, of(table.bound), of(table.other), table.rounds, table.jumps, min(table.samples, len(value.Data))}
	g := shapeOfGather(op, in)
	b.known[op.Out] = k
	for i := range k.bound.Data {
		if ids.bound.Data[g.number(int64(i)/g.inner)] > 0 {
			k.bound.Data[i], k.jumps = math.Inf(1), true
		}
	}
}

// overflow sets the bound of an infinite element to 0 if 0.9 times the second evaluation also rounds to this infinity. It
// does nothing if rounding may decide between branches.
func (k *bounded) overflow(dtype domain.DType) {
	for i, v := range k.value.Data {
		if math.IsInf(v, 0) && !k.jumps && dtype.Round(0.9*k.other.Data[i]) == v {
			k.bound.Data[i] = 0
		}
	}
}

const (
	// leastElements is the smallest number of elements with independent errors for which a second evaluation can tighten the
	// bounds of a tensor.
	leastElements = 32
	// leastShare is the smallest factor by which tighten scales bounds, because fp32 rounds in any case.
	leastShare = 0x1p-12
)

// tighten scales all bounds of a tensor by one factor from leastShare to 1: a multiple of the largest ratio of the
// difference between the two evaluations to the bound. It does nothing without values of fewer bits than fp32, if rounding may
// decide between branches, or for fewer than leastElements independent errors.
func (k *bounded) tighten() {
	n := float64(k.samples)
	if !k.rounds || k.jumps || n < leastElements {
		return
	}
	worst := 0.0
	for i, e := range k.bound.Data {
		if d := apart(k.value.Data[i], k.other.Data[i]); e > 0 && !math.IsInf(d, 0) {
			worst = max(worst, d/e)
		}
	}
	by := min(1, max(leastShare, 3*(1+2/math.Sqrt(n))*worst))
	for i := range k.bound.Data {
		k.bound.Data[i] *= by
	}
}

// kept selects the results of an operation that are not rounded, if their element type can represent them.
type kept int

const (
	none  kept = iota
	exact      // results that have no error before rounding: of a cast to fewer bits than fp32 has
	all        // all results: elements of operands, or small integers
)

// keptBy returns the selection of results that an operation does not round.
func keptBy(op *model.Op) kept {
	switch {
	case op.Kind == model.OpCast && op.Out.DType.Epsilon() > domain.FP32.Epsilon():
		return exact
	case op.Kind == model.OpCast || op.Kind == model.OpPositions || chooses(op):
		return all
	}
	return none
}

// rounded adds to bound the error of rounding the results raw to an element type, and returns bound.
func rounded(dtype domain.DType, raw, bound *Array, keeps kept) *Array {
	least := 0x1p-126
	if row := dtype.Row(); row.Least != 0 {
		least = math.Ldexp(1, row.Least)
	}
	for i, v := range raw.Data {
		e := bound.Data[i]
		if math.IsNaN(e) {
			e = math.Inf(1)
		}
		if keeps != none && (keeps == all || e == 0) && dtype.Round(v) == v {
			bound.Data[i] = e
			continue
		}
		if v = math.Abs(v); !math.IsInf(v, 0) && !math.IsNaN(v) {
			e = math.Hypot(e, spread*(dtype.Epsilon()+0x1p-22)*max(v, least))
			if math.IsInf(dtype.Round(v+e), 0) { // an operation in the same kernel may read v before it overflows
				e = math.Inf(1)
			}
		}
		bound.Data[i] = e
	}
	return bound
}

// apart returns the distance of two results. Infinities of one sign are equal, and so are NaNs.
func apart(a, b float64) float64 {
	switch {
	case a == b || a != a && b != b:
		return 0
	case a != a || b != b:
		return math.Inf(1)
	default:
		return math.Abs(a - b)
	}
}

// combined applies a function to the pairs of elements of two arrays.
func combined(a, b *Array, fn func(v, e float64) float64) *Array {
	out := NewArray(a.Shape...)
	for i, v := range a.Data {
		out.Data[i] = fn(v, b.Data[i])
	}
	return out
}

// The ways to vary an element within its bound.
var (
	raised  = func(v, e float64) float64 { return middle(v, e) + e }
	lowered = func(v, e float64) float64 { return middle(v, e) - e }
	zeroed  = func(v, e float64) float64 { return choose(math.Abs(middle(v, e)) <= e, 0, v) }
	// finite replaces an infinite or NaN element with an infinite bound by 1, because it may also be a finite number.
	finite = func(v, e float64) float64 { return choose(math.IsInf(e, 1) && v-v != 0, 1, v) }
)

// middle returns the middle of the range of an element: its value, but 0 if it is NaN and its bound is infinite.
func middle(v, e float64) float64 { return choose(v != v && math.IsInf(e, 1), 0, v) }

func choose(holds bool, a, b float64) float64 {
	if holds {
		return a
	}
	return b
}

// widest evaluates the operation once for each way, with operands first to last varied in this way at the same time. It
// raises each bound to the largest distance of a result from raw.
func widest(bound, raw *Array, op *model.Op, in, e []*Array, first, last int, ways ...func(v, e float64) float64) {
	for _, way := range ways {
		moved := slices.Clone(in)
		for i := first; i <= last; i++ {
			moved[i] = combined(in[i], e[i], way)
		}
		for i, v := range doubles.evaluate(op, moved).Data {
			bound.Data[i] = max(bound.Data[i], apart(v, raw.Data[i]))
		}
	}
}

// mostTurned is the largest error of an angle, in radians, for which the ends of its range bound the error of its sine
// or cosine.
const mostTurned = 1.5

// varied returns the results, in float64, of an operation that is neither a sum nor a GEMM nor an attention, and their
// bounds. It reports whether rounding may change a mask that it reads, or the result of a function with NoGradient.
func varied(op *model.Op, in, e []*Array) (raw, bound *Array, jumps bool) {
	raw = doubles.evaluate(op, in)
	bound, other := NewArray(raw.Shape...), NewArray(raw.Shape...)
	name, constant := domain.SplitFn(op.Fn)
	fn := domain.FunctionOf(name)
	if op.Kind == model.OpUnary && constant == "" && !fn.Is(domain.Integers) {
		e = []*Array{combined(in[0], e[0], func(v, e float64) float64 { return e + choose(v-v == 0, spread*0x1p-23*math.Abs(v), 0) })}
	}
	like := []*model.Op{op}
	if op.Fn == "eq" { // eq changes where ge or gt changes
		least, more := *op, *op
		least.Fn, more.Fn = "ge", "gt"
		like = []*model.Op{&least, &more}
	}
	for _, op := range like {
		at, last := doubles.evaluate(op, in), len(in)-1
		if op.Kind == model.OpBinary && op.In[0] != op.In[1] {
			widest(other, at, op, in, e, 1, 1, raised, lowered, zeroed)
			last = 0
		}
		widest(bound, at, op, in, e, 0, last, raised, lowered, zeroed)
		widest(bound, at, op, in, e, 0, len(in)-1, finite)
	}
	if op.Out.DType.IsInteger() { // a cast, which makes an infinity a finite number
		bound = combined(bound, e[0], func(b, e float64) float64 { return choose(b > 0 && math.IsInf(e, 1), e, b) })
	}
	if op.Fn == "sin" || op.Fn == "cos" { // within a wide range of angles the result may be any number from -1 to 1
		bound = combined(bound, e[0], func(b, e float64) float64 { return choose(e > mostTurned, max(b, 2), b) })
	}
	decides := other
	if bound = combined(bound, other, math.Hypot); fn.Gradient == domain.NoGradient || op.Out.DType.IsInteger() {
		decides = bound
	} else if !slices.Contains([]string{"keep", "drop", "masked"}, op.Fn) {
		decides = &Array{}
	}
	if op.Fn == "prod" {
		away := func(sign float64) func(v, e float64) float64 {
			return func(v, e float64) float64 { return v + sign*math.Copysign(e, v) }
		}
		widest(bound, raw, op, in, e, 0, 0, away(1), away(-1))
	}
	return raw, bound, slices.ContainsFunc(decides.Data, func(e float64) bool { return e > 0 })
}

// added returns the results of a sum or a GEMM in float64, a second evaluation with other rounding errors, and bounds.
func (b *bounder) added(op *model.Op, in, other, e []*Array) (results, others, bounds []*Array) {
	raw, moved := doubles.evaluate(op, in), doubles.evaluate(op, other)
	count, ranks, common, unsure := summed(op), b.ranks, 0.0, unsure(e)
	if op.Kind == model.OpReduce {
		count = in[0].Shape[op.Axis]
	}
	if count == 1 {
		ranks = 0
	}
	for i := range in {
		common += shared(in[i], e[i])
	}
	terms, bound := secondMoments(op, in, e)
	epsilon := op.Out.DType.Epsilon()
	if op.In[0].DType.Computes() {
		epsilon = max(epsilon, op.In[0].DType.Epsilon())
	}
	partial := spread / 2 * math.Sqrt(ranks/2) * epsilon
	if op.In[0].DType.Saturates() {
		partial = math.Hypot(partial, narrow)
	}
	eps := math.Hypot(spread*chopped*math.Sqrt(float64(count))*0x1p-23, partial)
	for i, v := range raw.Data {
		if size := math.Hypot(math.Sqrt(terms.Data[i]), v); !math.IsInf(size, 0) && !math.IsNaN(size) {
			bound.Data[i] = math.Hypot(math.Hypot(math.Sqrt(bound.Data[i]), common*v), eps*size)
			moved.Data[i] += partial * size * (b.Float64() - 0.5) / 2 // the standard deviation is about a seventh of partial * size
		} else {
			bound.Data[i] = unsure
		}
	}
	return []*Array{raw}, []*Array{moved}, []*Array{bound}
}

// unsure returns the bound of infinite and NaN results: infinity if an operand has an element with an infinite bound,
// else 0.
func unsure(e []*Array) float64 {
	return choose(slices.ContainsFunc(e, func(e *Array) bool { return slices.Contains(e.Data, math.Inf(1)) }), math.Inf(1), 0)
}

// shared returns a relative error that all elements may have in common: the smallest relative bound of a nonzero
// element. It returns 0 if this bound is 1 or more, or if all elements are 0.
func shared(a, e *Array) float64 {
	least := math.Inf(1)
	for i, v := range a.Data {
		if v != 0 {
			least = min(least, e.Data[i]/math.Abs(v))
		}
	}
	return choose(least < 1, least, 0)
}

// secondMoments returns the sum of the squared terms of each result of a sum or a GEMM, and the sum of their squared
// bounds, as if these were independent.
func secondMoments(op *model.Op, in, e []*Array) (terms, noise *Array) {
	square := func(a *Array) *Array { return combined(a, a, func(v, w float64) float64 { return v * w }) }
	plus := func(a, b *Array) *Array { return combined(a, b, func(v, w float64) float64 { return v + w }) }
	in, e = lists.Map(in, square), lists.Map(e, square)
	terms = doubles.evaluate(op, in)
	if !isProduct(op) {
		return terms, doubles.evaluate(op, e)
	}
	none := lists.Map(e[2:], func(bias *Array) *Array { return NewArray(bias.Shape...) })
	return terms, plus(doubles.evaluate(op, append([]*Array{in[0], e[1]}, e[2:]...)),
		doubles.evaluate(op, append([]*Array{e[0], plus(in[1], e[1])}, none...)))
}

// shaken returns the results of an attention or of its gradient in float64, a second evaluation with other rounding
// errors, and bounds. It finds these by evaluating the operation with small random changes of the operands.
func (b *bounder) shaken(op *model.Op, in, other, e []*Array) (results, others, bounds []*Array) {
	const times = 3
	a, _ := domain.AttentionOf(op.Fn)
	move := func(in, e []*Array, roundings float64) []*Array {
		moved := make([]*Array, len(in))
		for i, t := range op.In {
			moved[i] = combined(in[i], e[i], func(v, e float64) float64 {
				return v + float64(2*b.IntN(2)-1)*math.Hypot(e, roundings*t.DType.Epsilon()*v)
			})
		}
		return moved
	}
	none := lists.Map(in, func(a *Array) *Array { return NewArray(a.Shape...) })
	// An attention also rounds intermediate results.
	results, others = attention(doubles, a, op, in), attention(doubles, a, op, move(other, none, 0.25))
	for _, r := range results {
		bounds = append(bounds, NewArray(r.Shape...))
	}
	size, infinite := make([]float64, len(results)), unsure(e)
	for range times {
		for r, shaken := range attention(doubles, a, op, move(in, e, spread)) {
			for i, v := range shaken.Data {
				d := apart(v, results[r].Data[i])
				size[r] += d * d / float64(times*len(shaken.Data))
				bounds[r].Data[i] = max(bounds[r].Data[i], d, choose(v-v == 0, 0, infinite))
			}
		}
	}
	for r, bound := range bounds {
		for i := range bound.Data {
			bound.Data[i] = max(bound.Data[i], math.Sqrt(size[r]))
		}
	}
	return results, others, bounds
}
