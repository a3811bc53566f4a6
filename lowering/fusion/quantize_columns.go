package fusion

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// QuantizeColumns lets kernels quantize the rows of a transposed view without the copy that puts these rows into one run
// of memory (kernels: fused). With V: [N, M], whose rows are the columns of a buffer,
//
//	R = Set(V)
//	Q, S = Fused(quantize, R): a = abs(R), m = max(a), ..., also S = ..., Q = div(R, S)
//
// becomes
//
//	V_stored = Permute(V, perm [1, 0])
//	m = Fused(abs_max, V_stored): a = abs(V_stored), m = max_rows(a)
//	m_b = Broadcast(m, axis 1)
//	Q, S = Fused(quantize, V, m_b): ..., also S = ..., Q = div(V, S)
//
// The first kernel reads the buffer along its own rows. The second kernel reads it in tiles, and transposes these
// (runtime_cpp/include/hirgen/turned.hpp). The results have the same bits as before. The copy stays if another
// statement reads it, for matrices in batches, and if the quotients have more than 8 bits. It also stays if the rows of
// the view are not adjacent in memory, or if a pipeline slices a tensor.
//
// Requires: tensors are whole (before lower-streams); FuseElementwise has run.
func QuantizeColumns(p *hostir.Program) error {
	if separate(p) {
		return nil
	}
	l, gone := linksOf(p.Body), map[*hostir.Tensor]bool{}
	var names *hostir.Namer // made for the first new name
	var body []hostir.Stmt
	for _, s := range p.Body {
		k, _ := s.(*hostir.Fused)
		var rows *hostir.Set
		if k != nil && quantizesRows(k) {
			rows = l.transposes(k)
		}
		if rows == nil {
			body = append(body, s)
			continue
		}
		if names == nil {
			names = hostir.NewNamer(p)
		}
		gone[rows.Out] = true
		made := quantizeColumns(k, rows.In, names)
		for _, m := range made {
			p.Tensors = append(p.Tensors, hostir.Result(m))
		}
		body = append(append(body, made...), k)
	}
	p.Body = slices.DeleteFunc(body, func(s hostir.Stmt) bool { return gone[hostir.Result(s)] })
	p.Remove(gone)
	return nil
}

// transposes returns the copy of a transposed view that is the operand of a kernel. It returns nil if there is none, or if
// the kernel needs the copy.
func (l *links) transposes(k *hostir.Fused) *hostir.Set {
	rows, ok := l.maker[k.In[0]].(*hostir.Set)
	sliced := func(t *hostir.Tensor) bool { return hostir.StreamAxis(t) >= 0 }
	if !ok || len(l.readers[rows.Out]) != 1 || rows.Out.Role != hostir.Temp || rows.In.Mesh != k.Out[0].Mesh || !isTransposed(rows.In) ||
		!l.adjacent(rows.In) || sliced(rows.In) || slices.ContainsFunc(k.Out, sliced) || !hostir.SameAxes(rows.In, rows.Out) {
		return nil
	}
	return rows
}

// adjacent reports whether the elements of a tensor's innermost axis in memory are adjacent: no view keeps one element of
// an innermost axis.
func (l *links) adjacent(t *hostir.Tensor) bool {
	for {
		s := l.maker[t]
		switch s := s.(type) {
		case *hostir.Slice:
			if s.Axis == last(hostir.Layout(s.In)) && s.Out.Axes[s.Axis].LocalSize() == 1 {
				return false
			}
			t = s.In
		case *hostir.Permute:
			t = s.In
		case *hostir.Reshape:
			t = s.In
		case *hostir.Select, *hostir.Broadcast:
			return false
		default:
			return true
		}
	}
}

// quantizesRows reports whether a kernel divides each row of its only operand by a scale, and stores the quotients in 8
// bits. The scale of a row depends only on the largest absolute value of the row.
func quantizesRows(k *hostir.Fused) bool {
	last := len(k.Body) - 1
	if len(k.In) != 1 || last < 2 || k.Out[0].DType.Size() != 1 || !slices.Equal(k.HasRows(), []bool{true}) || k.Columns() == 1 {
		return false
	}
	abs, most, div := k.Body[0], k.Body[1], k.Body[last]
	if abs.Fn != "abs" || abs.Also || most.Fn != "max" || most.Also || most.Args[0] != 1 || div.Fn != "div" || div.Args[0] != 0 {
		return false
	}
	wide := k.WideSteps()
	for i, s := range k.Body[2:] {
		scalar := !slices.Contains(s.Args, 0) && !slices.Contains(s.Args, 1) && !wide[2+i] // a value of the row, from its maximum
		if i+2 != last && !scalar || len(s.Args) == 0 || s.NeedsRow() || s.Concats() {
			return false
		}
	}
	return div.Args[1] >= 2
}

// isTransposed reports whether a tensor has two axes of more than one element on a rank, and the last of them is the outer
// one in memory.
func isTransposed(t *hostir.Tensor) bool {
	live := hostir.Live(t)
	inside := lists.Except(hostir.Layout(t), func(axis int) bool {
		return !slices.Contains(live, axis) || t.Axes[axis].LocalSize() == 1
	})
	return len(inside) == 2 && len(live) >= 2 && inside[0] == last(live) && inside[1] == live[len(live)-2]
}

// quantizeColumns makes k, which quantizes the rows of a copy, read the copied view itself, and the largest absolute value of
// each row. It returns the statements that make the latter, each with one new tensor.
func quantizeColumns(k *hostir.Fused, view *hostir.Tensor, names *hostir.Namer) []hostir.Stmt {
	abs, most, column := k.Body[0], k.Body[1], last(hostir.Live(view))
	stored, perm := swapped(view)
	stored.Name, stored.Role = names.Fresh(view.Name+"_stored"), hostir.View

	largest := hostir.WithoutColumns(view)
	largest.Name, largest.DType, largest.Role = names.Fresh(most.Name), domain.FP32, hostir.Temp
	largest.Layout = lists.Numbers(len(largest.Axes))
	abs.Args, most.Args, most.Fn, most.Name = []int{0}, []int{1}, domain.OverRows(most.Fn), largest.Name
	fold := &hostir.Fused{
		Info:   hostir.InfoFrom(k, "reads the rows that lie in memory; the next kernel transposes them in tiles"),
		Kernel: "abs_max", Out: []*hostir.Tensor{largest}, In: []*hostir.Tensor{stored},
		Names: []string{stored.Name}, Body: domain.Body{abs, most},
	}

	forRows := *view
	forRows.Name, forRows.DType, forRows.Role, forRows.Axes = names.Fresh(largest.Name+"_b"), domain.FP32, hostir.View, slices.Clone(view.Axes)
	forRows.Axes[column] = domain.Axis{Kind: domain.Broadcast, Extent: domain.Extent{Text: "1", Size: 1}}
	forRows.Layout = lists.Numbers(len(forRows.Axes))
	k.In, k.Names = []*hostir.Tensor{view, &forRows}, []string{view.Name, forRows.Name}
	// Value 0 stays the operand. Value 2, the maximum, becomes operand 1, and the value of each later step is one less.
	k.Body = lists.Map(k.Body[2:], func(s domain.Step) domain.Step {
		s.Args = lists.Map(s.Args, func(at int) int { return max(at-1, 0) })
		return s
	})
	return []hostir.Stmt{
		&hostir.Permute{Info: hostir.InfoFrom(k, ""), Out: stored, In: view, Perm: perm}, fold,
		&hostir.Broadcast{Info: hostir.InfoFrom(k, ""), Out: &forRows, In: largest, Axis: column},
	}
}

// swapped returns a copy of a tensor with its last two axes in the other order, and the permutation of its axes, in which
// reduced axes do not count.
func swapped(t *hostir.Tensor) (turned *hostir.Tensor, perm []int) {
	live, out := hostir.Live(t), *t
	row, column := live[len(live)-2], last(live)
	out.Axes = slices.Clone(t.Axes)
	out.Axes[row], out.Axes[column] = t.Axes[column], t.Axes[row]
	out.Layout = lists.Map(hostir.Layout(t), func(axis int) int {
		switch axis {
		case row:
			return column
		case column:
			return row
		}
		return axis
	})
	perm = lists.Numbers(len(live))
	slices.Reverse(perm[len(perm)-2:])
	return &out, perm
}
