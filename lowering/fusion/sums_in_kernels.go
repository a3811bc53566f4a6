package fusion

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// mostParts is how many parts a kernel adds up. It has a pointer for each, and more of them win little: the sum is a smaller
// share of what the kernel reads the more there are.
const mostParts = 4

// SumsInKernels lets a kernel add up the parts of a sum that it alone reads (kernels: fused):
//
//	C = Reduce(sum, P_parts, axis 0)      Y = Fused(sum_add, P_parts_0, P_parts_1, X): C = add(P_parts_0, P_parts_1), Y = add(C, X)
//	Y = Binary(add, C, X)
//
// Requires: parts of a sum over ranks are in one buffer, one behind the other, when the sum is taken; what reads the
// sum is the next statement that does anything.
// Establishes: such a sum is neither written nor read.
func SumsInKernels(p *hostir.Program) error {
	if p.Choices.Get(schedule.Kernels) != schedule.Fused {
		return nil
	}
	s := &partSums{program: p, names: hostir.NewNamer(p), readers: map[*hostir.Tensor]int{}, gone: map[*hostir.Tensor]bool{}}
	hostir.Walk(p.Body, func(stmt hostir.Stmt) bool {
		for _, t := range hostir.Uses(stmt) {
			s.readers[t]++
		}
		hostir.Views(stmt, func(view *hostir.Tensor) {
			for _, t := range hostir.Uses(view.Of) {
				s.readers[t]++
			}
		})
		return true
	})
	p.Body = hostir.RewriteBlocks(p.Body, s.block)
	p.Body = hostir.Rewrite(p.Body, func(stmt hostir.Stmt) []hostir.Stmt {
		if a, ok := stmt.(*hostir.Allocate); ok && s.gone[a.Tensor] {
			return nil
		}
		return []hostir.Stmt{stmt}
	})
	p.Tensors = slices.DeleteFunc(p.Tensors, func(t *hostir.Tensor) bool { return s.gone[t] })
	return nil
}

type partSums struct {
	program *hostir.Program
	names   *hostir.Namer
	readers map[*hostir.Tensor]int // statements and views, each time that they name a tensor
	gone    map[*hostir.Tensor]bool
}

// block gives the statements of a list, with sums in the kernels behind them.
func (s *partSums) block(body []hostir.Stmt) []hostir.Stmt {
	out := slices.Clone(body)
	for i := 0; i < len(out); i++ {
		sum, ok := out[i].(*hostir.Reduce)
		if !ok || !s.hasParts(sum) {
			continue
		}
		next := i + 1
		for next < len(out) && allocates(out[next]) {
			next++
		}
		if next == len(out) || !s.alone(out[next], sum.Out) {
			continue
		}
		out[next] = s.kernel(sum, out[next])
		s.gone[sum.Out] = true
		out = slices.Delete(out, i, i+1)
		i--
	}
	return out
}

func allocates(stmt hostir.Stmt) bool {
	_, ok := stmt.(*hostir.Allocate)
	return ok
}

// hasParts reports whether a sum is over few parts of a rank that lie one behind the other, into a buffer of its own.
func (s *partSums) hasParts(r *hostir.Reduce) bool {
	a := r.In.Axes[r.Axis]
	return r.Fn == "sum" && r.Out.Role == hostir.Temp && !hostir.MayMove(r) && a.Kind == domain.Serial && a.LocalSize() > 1 && a.LocalSize() <= mostParts &&
		hostir.Outside(r.In, r.Axis) < 0 && hasRows(r.In) && len(hostir.Live(r.Out)) > 0
}

// alone reports whether a statement is the only one that reads a tensor, and may be a kernel.
func (s *partSums) alone(reader hostir.Stmt, t *hostir.Tensor) bool {
	named := 0
	for _, u := range hostir.Uses(reader) {
		if u == t {
			named++
		}
	}
	if named == 0 || named != s.readers[t] {
		return false
	}
	switch reader.(type) {
	case *hostir.Fused:
		return true
	case *hostir.Unary, *hostir.Binary:
		return rowWise(reader)
	default:
		return false
	}
}

// kernel is what reads a sum, as a kernel that reads its parts.
func (s *partSums) kernel(sum *hostir.Reduce, reader hostir.Stmt) *hostir.Fused {
	from := asKernel(reader)
	k := &hostir.Fused{Info: from.Info, Kernel: "sum_" + from.Kernel, Out: from.Out}
	for i := range sum.In.Axes[sum.Axis].LocalSize() {
		part := s.part(sum, i)
		k.In, k.Names = append(k.In, part), append(k.Names, part.Name)
	}
	added := domain.Body{}
	for i := 1; i < len(k.In); i++ {
		added = append(added, domain.Step{Fn: "add", Args: []int{0, i}})
	}
	at := make([]int, len(from.In)+len(from.Body)) // of the values of from
	for i, t := range from.In {
		if t != sum.Out {
			at[i] = len(k.In)
			k.In, k.Names = append(k.In, t), append(k.Names, from.Names[i])
		}
	}
	name := from.Names[slices.Index(from.In, sum.Out)]
	for i := range added {
		added[i].Name = name
		if i < len(added)-1 {
			added[i].Name = s.names.Fresh(fmt.Sprintf("%s_%d", name, i+1))
		}
		if i > 0 {
			added[i].Args[0] = len(k.In) + i - 1
		}
	}
	for i := range at {
		switch {
		case i >= len(from.In):
			at[i] = len(k.In) + len(added) + i - len(from.In)
		case from.In[i] == sum.Out:
			at[i] = len(k.In) + len(added) - 1
		}
	}
	k.Body = added
	for _, step := range from.Body {
		step.Args = slices.Clone(step.Args)
		for i, arg := range step.Args {
			step.Args[i] = at[arg]
		}
		k.Body = append(k.Body, step)
	}
	return k
}

// part is a view of one part of a sum.
func (s *partSums) part(sum *hostir.Reduce, i int64) *hostir.Tensor {
	in := sum.In
	view := &hostir.Tensor{
		Name: s.names.Fresh(fmt.Sprintf("%s_%d", in.Name, i)), DType: in.DType, Mesh: in.Mesh, Role: hostir.View,
		Axes: slices.Delete(slices.Clone(in.Axes), sum.Axis, sum.Axis+1), Layout: hostir.DropAxis(in.Layout, sum.Axis), Pos: in.Pos,
	}
	view.Of = &hostir.Select{Info: hostir.InfoFrom(sum, ""), Out: view, In: in, Axis: sum.Axis, Index: expr.Int(i)}
	s.program.Tensors = append(s.program.Tensors, view)
	return view
}

// asKernel is a statement that works element by element as a kernel of one step.
func asKernel(s hostir.Stmt) *hostir.Fused {
	if k, ok := s.(*hostir.Fused); ok {
		return k
	}
	word, _ := domain.SplitFn(functionOf(s))
	k := &hostir.Fused{Info: *s.Meta(), Kernel: word, Out: []*hostir.Tensor{hostir.Result(s)}}
	step := domain.Step{Name: hostir.Result(s).Name, Fn: functionOf(s)}
	for _, t := range hostir.Uses(s) {
		at := slices.Index(k.In, t)
		if at < 0 {
			at = len(k.In)
			k.In, k.Names = append(k.In, t), append(k.Names, t.Name)
		}
		step.Args = append(step.Args, at)
	}
	k.Body = domain.Body{step}
	return k
}
