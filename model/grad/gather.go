package grad

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// part is the contribution of one use of a tensor to its gradient. It may have axes along which the use stretched the
// tensor. The part is not summed over these axes yet.
type part struct {
	value
	along []domain.Axis // axes of the result of the use; nil: axes of the tensor
	from  string        // name of the result of the use
}

// result is an operation whose result has no name yet.
type result struct {
	fn    string
	args  []string
	attrs []string
	axes  []domain.Axis
	dtype domain.DType
	mesh  *domain.Mesh
}

// give adds the result of an operation to the gradient of an operand. along has the axes of the use's result, or is nil if r
// has the axes of the operand: see part.
func (u use) give(operand int, r result, along []domain.Axis) {
	if !u.wants(operand) {
		return
	}
	t := u.In[operand]
	if dtype := u.typeOf(t); dtype != r.dtype {
		r = cast(u.named("d"+t.Name+"_"+string(r.dtype), r), dtype)
	}
	u.flow(operand, u.named(u.partName(t, r, along), r), along)
}

// partName proposes a name for the contribution of a use to a gradient: dX if it is the whole gradient.
func (u use) partName(t *model.Tensor, r result, along []domain.Axis) string {
	switch {
	case u.uses[t] > 1 || len(u.parts[t]) > 0:
		return "d" + t.Name + "_" + u.Out[0].Name
	case len(u.summed(part{value: value{axes: r.axes}, along: along}, t)) > 0:
		return "d" + t.Name + "_parts"
	}
	return "d" + t.Name
}

// flow adds a value to the gradient of an operand. After the last use of the operand, it finishes the gradient.
func (u use) flow(operand int, v value, along []domain.Axis) {
	if !u.wants(operand) {
		return
	}
	t := u.In[operand]
	u.parts[t] = append(u.parts[t], part{u.typed(v, u.typeOf(t)), along, u.Out[0].Name})
	if u.uses[t]--; u.uses[t] == 0 {
		u.finish(t)
	}
}

// typeOf returns the type of the gradient of a tensor: the tensor's own, or the usual type of the pipeline for an integer or
// fp8 tensor. So a gradient passes through casts to fp8 as if they rounded nothing.
func (b *backward) typeOf(t *model.Tensor) domain.DType {
	if t.DType.Computes() {
		return t.DType
	}
	return b.pipeline.UsualDType()
}

func cast(v value, dtype domain.DType) result {
	r := like("cast", v).with("dtype=" + string(dtype))
	r.dtype = dtype
	return r
}

// typed returns a value in an element type, with a cast if its own type differs.
func (b *backward) typed(v value, dtype domain.DType) value {
	if v.dtype == dtype {
		return v
	}
	return b.named(v.name+"_"+string(dtype), cast(v, dtype))
}

// finish adds up the parts of a gradient. It first adds parts that must be summed over the same axes, so that this sum is
// computed only once.
func (b *backward) finish(t *model.Tensor) {
	parts, name := b.parts[t], "d"+t.Name
	for i := 0; i < len(parts); i++ {
		for j := i + 1; j < len(parts); {
			if !b.sameSum(parts[i], parts[j], t) {
				j++
				continue
			}
			parts[i] = b.added(parts[i], parts[j], name+"_parts")
			parts = slices.Delete(parts, j, j+1)
		}
	}
	sum := part{value: b.unstretch(parts[0], t, choose(len(parts) == 1, name, name+"_"+parts[0].from))}
	for i, p := range parts[1:] {
		last := i+2 == len(parts)
		sum = b.added(sum, part{value: b.unstretch(p, t, name+"_"+p.from)}, choose(last, name, name+"_sum"))
	}
	if b.grads[t] = sum.value; !b.scattered(sum.value, t) {
		b.grads[t] = b.settled(sum.value, t)
	}
}

// scattered handles the gradient v of a tensor t that is a copy of another tensor, such as a gather. If ranks add up v,
// it declares v with the distribution of the other tensor, because each rank needs only the sum of its shard. It
// reports whether it declared v.
func (b *backward) scattered(v value, t *model.Tensor) bool {
	p := t.Producer
	if p == nil || p.Kind != model.OpSet || !p.In[0].Mesh.Same(t.Mesh) {
		return false
	}
	from := p.In[0]
	if !b.mayHaveDistributionOf(v, from) || !b.addedByRanks(v, from) || !alike(v.axes, b.axes(from)) {
		return false
	}
	b.declared[v.name] = from
	return true
}

func choose(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// settled gives a gradient the distribution of its tensor if the spec annotates the tensor, the gradient is requested,
// the gradient is on another mesh, or ranks add it. If the spec cannot declare v so, settled adds a set for a requested
// gradient and for one on another mesh, and returns others unchanged.
func (b *backward) settled(v value, t *model.Tensor) value {
	asked, moved := slices.Contains(b.targets, t), !v.mesh.Same(t.Mesh)
	if !asked && !moved && !t.Annotated && !b.addedByRanks(v, t) {
		return v
	}
	if asked || moved {
		v = b.full(v, t)
	}
	switch free := b.mayHaveDistributionOf(v, t); {
	case !free && (asked || moved):
		s := &statement{fn: "set", args: []string{v.name}, origin: b.origin}
		v.name = b.names.fresh("d" + t.Name)
		b.add(s, v)
	case !free || !alike(v.axes, b.axes(t)):
		return v
	case asked && v.name != "d"+t.Name:
		b.callIt(v, "d"+t.Name)
	}
	b.declared[v.name] = t
	v.mesh = t.Mesh
	return v
}

// callIt records that result v gets a new name. Another result that already has this name gets a different one. If that
// result is declared or renamed itself, it keeps the name, and v gets a name like the given one.
func (b *backward) callIt(v value, name string) {
	if b.makers[name] != nil && b.declared[name] == nil && b.renamed[name] == "" {
		b.renamed[name], b.renamed[v.name] = b.names.fresh(name+"_part"), name
		return
	}
	b.renamed[v.name] = b.names.fresh(name)
}

// mayHaveDistributionOf reports whether the spec may declare a value with the distribution of t. A statement must compute the value, which
// must not be declared yet. The result of a slice, concat or rope qualifies only if no axis of t is split or streamed.
func (b *backward) mayHaveDistributionOf(v value, t *model.Tensor) bool {
	s := b.makers[v.name]
	if s == nil || b.declared[v.name] != nil {
		return false
	}
	if !slices.Contains([]string{"slice", "concat", "rope", "rope_grad"}, s.fn) {
		return true
	}
	return !slices.ContainsFunc(b.axes(t), func(a domain.Axis) bool { return a.Kind == domain.Stream || a.Kind == domain.Device })
}

// addedByRanks reports whether a gradient is a sum over ranks and each rank needs only a part of the sum.
func (b *backward) addedByRanks(v value, t *model.Tensor) bool {
	s := b.makers[v.name]
	if s == nil || s.fn != "sum" || !slices.ContainsFunc(b.axes(t), isSplit) {
		return false
	}
	parts := b.values[s.args[0]].axes
	i := slices.IndexFunc(parts, isSplit)
	return i >= 0 && s.attrs[0] == axisAttr(i)
}

func isSplit(a domain.Axis) bool { return a.Kind == domain.Device }

// sameSum reports whether two parts of a gradient must be summed over the same axes, so that they can be added before
// that sum.
func (b *backward) sameSum(p, q part, t *model.Tensor) bool {
	return len(b.summed(p, t)) > 0 && alike(p.axes, q.axes) && alike(p.along, q.along) && p.mesh.Same(q.mesh)
}

// added returns the sum of two parts.
func (b *backward) added(p, q part, name string) part {
	return part{b.named(name, like("add", p.value, q.value)), p.along, p.from}
}

// summed lists the indices of the axes over which a part must be summed, because the tensor was stretched along them.
func (b *backward) summed(p part, t *model.Tensor) []int {
	var list []int
	axes := b.axes(t)
	for i, many := range p.along {
		at, own := i-len(p.along)+len(p.axes), i-len(p.along)+len(axes)
		if at >= 0 && !stretchesTo(p.axes[at], many) && !isOne(many) && (own < 0 || stretchesTo(axes[own], many)) {
			list = append(list, at)
		}
	}
	return list
}

// unstretch sums a part over the axes along which the tensor was stretched: first over axes that no mesh axis splits.
func (b *backward) unstretch(p part, t *model.Tensor, name string) value {
	if p.along == nil {
		return p.value
	}
	v, order := p.value, b.summed(p, t)
	slices.SortStableFunc(order, func(i, j int) int { return ranks(p.axes[i]) - ranks(p.axes[j]) })
	for n, i := range order {
		at := i
		for _, before := range order[:n] {
			if before < i {
				at--
			}
		}
		if len(v.axes) == 1 { // a sum must leave an axis
			v, at = b.ranked(v, 2), 1
		}
		axes, called := lists.Without(v.axes, at), name+"_sum"
		if n == len(order)-1 && alike(axes, b.refitted(p, t)) {
			called = name
		}
		v = b.named(called, like("sum", v).with(axisAttr(at)).along(axes))
	}
	return b.fit(v, b.refitted(p, t), name)
}

// ranks returns 1 for an axis that is split over ranks, and otherwise 0.
func ranks(a domain.Axis) int {
	if a.Kind == domain.Device {
		return 1
	}
	return 0
}

// refitted returns the axes of a part after its sums: an axis of one element in place of each summed axis, without the
// axes that the tensor does not have.
func (b *backward) refitted(p part, t *model.Tensor) []domain.Axis {
	summed, rank := b.summed(p, t), len(b.axes(t))
	var want []domain.Axis
	for i := max(0, len(p.along)-len(p.axes)); i < len(p.along); i++ {
		at := i - len(p.along) + len(p.axes)
		switch axis := p.axes[at]; {
		case i-len(p.along)+rank < 0:
		case slices.Contains(summed, at):
			want = append(want, one)
		default:
			want = append(want, axis)
		}
	}
	return want
}

// fit adds or removes axes of one element, so that a value has the wanted axes.
func (b *backward) fit(v value, want []domain.Axis, name string) value {
	if alike(v.axes, want) {
		return v
	}
	return b.named(name, fitted(v, want))
}

// fitted returns an operation that adds or removes axes of one element of a value.
func fitted(v value, want []domain.Axis) result {
	if i, ok := inserted(v.axes, want); ok {
		return like("broadcast", v).with(axisAttr(i)).along(want)
	}
	return reshaped(v, want)
}

// reshaped returns an operation that reshapes a value.
func reshaped(v value, want []domain.Axis) result {
	return like("reshape", v).with(shapeAttr(want)).along(want)
}
