package fusion

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// rewrite replaces each group that computes something by a kernel, at the group's place, and removes positions and
// casts that no statement reads afterwards.
func (f *fuser) rewrite() {
	gone := map[*hostir.Tensor]bool{}
	var body []hostir.Stmt
	for _, s := range f.program.Body {
		g := f.groups[s]
		switch {
		case g == nil || !f.computes(g):
			body = append(body, s)
		default:
			gone[hostir.Result(s)] = s != g.result() && !g.also[s]
			if f.place[s] == g.place {
				body = append(body, f.kernel(g))
			}
		}
	}
	f.program.Body = f.unread(body, gone)
	f.program.Remove(gone)
}

// computes reports whether a group does more than change shapes, and the type once.
func (f *fuser) computes(g *kernelGroup) bool {
	return slices.ContainsFunc(g.members, func(s hostir.Stmt) bool { return f.step(g, s) != "" })
}

// step returns the function of a member's step. It is a cast if the member rounds values that other members read. It is
// "" for a member without a step. The kernel's main result needs no cast, because the store of a result converts it.
func (f *fuser) step(g *kernelGroup, s hostir.Stmt) string {
	if f.rounds(s) && s != g.result() {
		return domain.CastFn(hostir.Result(s).DType)
	}
	return functionOf(s)
}

// kernel returns the Fused statement that replaces a group.
func (f *fuser) kernel(g *kernelGroup) *hostir.Fused {
	out := hostir.Result(g.result())
	k := &hostir.Fused{Info: hostir.InfoFrom(g.result(), g.result().Meta().Note), Out: []*hostir.Tensor{out}, Kernel: f.called(g)}
	made, values := map[*hostir.Tensor]bool{}, map[*hostir.Tensor]int{}
	var positions []*hostir.Tensor
	counting := f.mayCount(g)
	for _, s := range g.members {
		made[hostir.Result(s)] = true
		for _, t := range hostir.Uses(s) {
			_, counts := f.counts[t]
			switch {
			case made[t]:
			case counts && counting:
				made[t], positions = true, append(positions, t)
			default:
				read := f.narrow(t)
				if !slices.Contains(k.In, read) {
					k.In, k.Names = append(k.In, read), append(k.Names, read.Name)
				}
				values[t] = slices.Index(k.In, read)
			}
		}
	}
	for _, t := range positions {
		values[t] = len(k.In) + len(k.Body)
		c := f.counts[t]
		if slices.ContainsFunc(positions, func(u *hostir.Tensor) bool { return f.counts[u].name == c.name && f.counts[u].back != c.back }) {
			c.name = t.Name // the same positions may be counted along two axes
		}
		k.Body = append(k.Body, domain.Step{Name: c.name, Fn: "positions(" + strconv.Itoa(c.back) + ")"})
	}
	for _, s := range g.members {
		t := hostir.Result(s)
		step := domain.Step{Name: t.Name, Fn: f.step(g, s), Also: g.also[s]}
		if step.Also {
			k.Out = append(k.Out, t)
		}
		if step.Fn == "" {
			values[t] = values[hostir.Uses(s)[0]]
			continue
		}
		for _, u := range hostir.Uses(s) {
			step.Args = append(step.Args, values[u])
		}
		values[t] = len(k.In) + len(k.Body)
		k.Body = append(k.Body, step)
	}
	if last := &k.Body[len(k.Body)-1]; last.Also || values[out] != len(k.In)+len(k.Body)-1 {
		k.Body = append(k.Body, domain.Step{Name: out.Name, Fn: domain.Copy, Args: []int{values[out]}}) // the same value in another type
	} else {
		last.Name = out.Name
	}
	return k
}

// narrow returns the tensor that a kernel reads for t. If a cast from 16 bits to fp32, outside of kernels, computes t,
// narrow returns the operand of the cast, unless the operand exists only inside of a kernel or its last axis is not
// innermost in memory. Otherwise it returns t.
func (f *fuser) narrow(t *hostir.Tensor) *hostir.Tensor {
	cast, ok := f.maker[t].(*hostir.Cast)
	if !ok || t.DType != domain.FP32 || cast.In.DType.Size() != 2 || !cast.In.DType.Computes() || cast.In.Mesh != t.Mesh ||
		!hostir.SameAxes(cast.In, t) || !hasRows(cast.In) {
		return t
	}
	made := f.maker[cast.In]
	own, g := f.groups[cast], f.groups[made]
	if own != nil && f.computes(own) || g != nil && f.computes(g) && made != g.result() && !g.also[made] {
		return t
	}
	return cast.In
}

// functionOf returns the function of a member, or "" if the member only changes the type or the shape.
func functionOf(s hostir.Stmt) string {
	switch s := s.(type) {
	case *hostir.Unary:
		return s.Fn
	case *hostir.Binary:
		return s.Fn
	case *hostir.Reduce:
		return s.Fn
	case *hostir.Concat:
		return "concat"
	case *hostir.Fused:
		return s.Body[0].Fn
	default:
		return ""
	}
}

// mostWords is the largest number of operations in a kernel's name. The name of a longer kernel has only its first and
// its last operation.
const mostWords = 4

// called returns the name of a kernel, after its operations in the spec: "silu_mul", "layer_norm".
func (f *fuser) called(g *kernelGroup) string {
	var words []string
	var last domain.Operation
	for _, s := range g.members {
		word, _ := domain.SplitFn(functionOf(s))
		var own domain.Operation
		if op := f.whole[hostir.Result(s).Name]; op != nil {
			own.Whole, own.Part = op.Whole, op.Part
			word = wordOf(op)
		}
		if word == "" {
			continue // it changes the shape or the type
		}
		if own.Whole == "" || own.Whole != last.Whole || own.Part != last.Part {
			words = append(words, word)
		}
		last = own
	}
	if len(words) == 0 {
		return "cast" // the kernel only rounds
	}
	return calledAfter(words)
}

// wordOf returns the name of the composite, or of its part, that an operation belongs to. It returns "scale" for a
// GEMM, because a kernel computes only the scaling in such a composite.
func wordOf(op *domain.Operation) string {
	name, _, _ := strings.Cut(op.Whole[strings.Index(op.Whole, "= ")+1:], "(")
	switch name = cmp.Or(op.Part, strings.TrimSpace(name)); name {
	case "linear", "matmul", "scaled_linear":
		return "scale"
	}
	return name
}

// rowWise reports whether a statement can be part of a kernel: it is elementwise, reduces rows, adds a last axis of one
// element, or concatenates rows of equal length. The result has to be row-major. The operands may have their rows in
// another order, as in a permuted view.
func rowWise(s hostir.Stmt) bool {
	switch s := s.(type) {
	case *hostir.Unary, *hostir.Binary, *hostir.Cast:
	case *hostir.Fused:
		if !drops(s) {
			return false
		}
	case *hostir.Reduce:
		live := hostir.Live(s.In)
		if a := s.In.Axes[s.Axis]; s.Axis != live[len(live)-1] || a.Kind != domain.Serial || a.LocalSize() == 1 {
			return false
		}
	case *hostir.Broadcast:
		live := hostir.Live(s.Out)
		if s.Axis != live[len(live)-1] {
			return false
		}
	case *hostir.Concat:
		ranges := hostir.Ranges(s)
		live, size := hostir.Live(s.Out), ranges[0].Size
		other := func(r hostir.Range) bool { return r.Size != size }
		if s.Axis != live[len(live)-1] || len(s.In) < 2 || size < 2 || s.Out.Axes[s.Axis].Kind != domain.Serial ||
			slices.ContainsFunc(ranges, other) {
			return false
		}
	default:
		return false
	}
	return slices.IsSorted(hostir.Layout(hostir.Result(s))) &&
		!slices.ContainsFunc(hostir.Mentions(s), func(t *hostir.Tensor) bool { return !hasRows(t) })
}

// hasRows reports whether the last axis of a tensor is innermost in memory. The other axes may be in any order.
func hasRows(t *hostir.Tensor) bool {
	live := hostir.Live(t)
	inside := lists.Except(hostir.Layout(t), func(axis int) bool { return !slices.Contains(live, axis) })
	return len(live) == 0 || inside[len(inside)-1] == live[len(live)-1]
}

// drops reports whether a statement is a dropout, which Build already makes a kernel.
func drops(s hostir.Stmt) bool {
	f, ok := s.(*hostir.Fused)
	if !ok || len(f.Body) != 1 {
		return false
	}
	_, drops := domain.DropoutOf(f.Body[0].Fn)
	return drops
}

// sameAxes reports whether a tensor and the result of its reader are on the same mesh, and whether their axes are split
// and sliced in the same way. Axes of one element, and axes that the result does not have, do not count.
func sameAxes(reader hostir.Stmt, t *hostir.Tensor) bool {
	out := hostir.Result(reader)
	if t.Mesh != out.Mesh {
		return false
	}
	at := slices.Index(hostir.Uses(reader), t)
	for i, j := range hostir.AxisMap(reader)[at] {
		if j == hostir.Unmapped || t.Axes[i].Size == 1 {
			continue
		}
		a, b := t.Axes[i], out.Axes[j]
		if a.Size != b.Size || a.Kind != b.Kind || a.Mesh != b.Mesh {
			return false
		}
	}
	return true
}
