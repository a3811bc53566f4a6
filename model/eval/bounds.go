package eval

import (
	"math"
	"math/rand/v2"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// spread is about six standard deviations of the difference between two correct results with one rounding each, in
// units of the element type's epsilon.
const spread = 2

// Bounds evaluates a pipeline as Run does. For each element of each tensor it also bounds the difference between this
// value and the result of a correct program. A bound is 0 where rounding cannot change the element. It is infinite where
// rounding may lead to any value, for example near a pole.
//
// It propagates the bounds through the operations. Rounding errors count as independent, and add up as in a random
// walk. Where rounding decides an integer, a mask or another step, the error is a leap, as large as that step. Leaps may
// all have one sign, and add up in full. The error of a sum consists of the independent errors of its terms, their
// common relative error, as after a division by one number, and its own rounding: in fp32, and once for each rank in the
// element type. An elementwise function is evaluated at the ends of its operands' bounds. Such bounds grow faster than
// errors do, so tighten scales them by the result of a second evaluation with other rounding errors. DeviceReference
// does the same in emitted programs.
func Bounds(p *model.Pipeline, inputs map[string]*Array) (values, bounds map[string]*Array, err error) {
	if values, err = Run(p, inputs); err != nil {
		return nil, nil, err
	}
	b := &bounder{rand.New(rand.NewPCG(1, 2)), float64(p.Meshes[0].Size()), map[*model.Tensor]*bounded{}, //nolint:gosec // no secret
		map[*model.Tensor]*model.Op{}}
	for _, t := range p.Inputs {
		none := NewArray(domain.Shape(t.Axes)...)
		b.known[t] = &bounded{value: values[t.Name], other: values[t.Name], bound: none, leap: none}
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
	leap         *Array      // the part of each bound that is due to leaps
	other        *Array      // value of a second evaluation, with other rounding errors
	rounds       bool        // this tensor, or one that it depends on, is rounded to fewer bits than fp32 has
	jumps        bool        // rounding may change a step, or an index, that it depends on, which a second evaluation may not show
	log          *logarithms // nil if they are not known
	samples      int         // how many elements have independent errors; the other elements repeat these errors
}

type bounder struct {
	*rand.Rand
	ranks float64
	known map[*model.Tensor]*bounded
	// maxima has the max of which a tensor has the results.
	maxima map[*model.Tensor]*model.Op
}

func (b *bounder) operation(op *model.Op, values map[string]*Array) {
	var in, other, e, leaps []*Array
	rounds, jumps, samples := false, false, 0
	for _, t := range op.In {
		k := b.known[t]
		samples += k.samples
		in, other, e = append(in, k.value), append(other, k.other), append(e, k.bound)
		leaps = append(leaps, k.leap)
		rounds, jumps = rounds || k.rounds, jumps || k.jumps
	}
	b.findMaxima(op)
	if op.Kind == model.OpBlockLinear {
		b.blockLinear(op, values)
		return
	}
	var raw, others, made, leaped []*Array
	switch _, attends := domain.AttentionOf(op.Fn); {
	case op.Kind == model.OpGather:
		b.gather(op, in, values[op.Out.Name])
		return
	case op.Kind.Moves():
		bound, leap := doubles.evaluate(op, e), doubles.evaluate(op, leaps)
		b.known[op.Out] = &bounded{
			values[op.Out.Name], bound, leap, doubles.evaluate(op, other), rounds, jumps, b.logarithms(op), min(samples, len(bound.Data)),
		}
		return
	case attends:
		raw, others, made = b.shaken(op, in, other, e)
		leaped = lists.Map(raw, func(a *Array) *Array { return NewArray(a.Shape...) }) // the bounds contain leaps of operands
	case isProduct(op) || op.Kind == model.OpReduce && op.Fn == "sum":
		raw, others, made, leaped = b.added(op, in, other, e, leaps)
	default:
		e, leaps = b.ofDivisor(op, e, leaps)
		value, bound, leap, jumped := varied(op, in, e, leaps)
		if is, jumps := b.ofMaxima(op, in[0], e[0], bound, leap); is {
			jumped = jumps
		}
		b.ofLogarithm(op, value, bound, leap)
		raw, others, made, leaped = []*Array{value}, []*Array{doubles.evaluate(op, other)}, []*Array{bound}, []*Array{leap}
		jumps = jumps || jumped
		// Passes may distribute any fold over ranks, and NCCL may drop NaN.
		if op.Kind == model.OpReduce && b.ranks > 1 && domain.FoldOf(op.Fn).DropsNaN() {
			made[0] = combined(value, bound, func(v, e float64) float64 { return choose(v != v, math.Inf(1), e) })
		}
	}
	for i, t := range op.Results() {
		if t.DType.Saturates() { // so an infinity becomes a number in the second evaluation, too
			others[i] = &Array{others[i].Shape, lists.Map(others[i].Data, t.DType.Saturate)}
		}
		rounds = rounds || t.DType.Epsilon() > domain.FP32.Epsilon()
		own := len(raw[i].Data)
		if chooses(op) {
			own = min(samples, own)
		}
		bound := rounded(t.DType, raw[i], made[i], leaped[i], keptBy(op))
		b.known[t] = &bounded{values[t.Name], bound, leaped[i], others[i], rounds, jumps, b.logarithms(op), own}
	}
}

// gather bounds the rows of a table. A row whose number is not certain may have any values.
func (b *bounder) gather(op *model.Op, in []*Array, value *Array) {
	table, ids := b.known[op.In[0]], b.known[op.In[1]]
	of := func(table *Array) *Array { return doubles.evaluate(op, append([]*Array{table}, in[1:]...)) }
	samples := min(table.samples, len(value.Data))
	k := &bounded{value, of(table.bound), of(table.leap), of(table.other), table.rounds, table.jumps, nil, samples}
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
