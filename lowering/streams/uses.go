package streams

import (
	"github.com/hirgen/hirgen/lowering/hostir"
)

// uses counts the readers of tensors and records views, before pipelines are formed.
type uses struct {
	readers map[*hostir.Tensor]int
	viewed  map[*hostir.Tensor]*hostir.Tensor // view -> the tensor that it is a view of
}

// usesIn collects the uses in a list of statements, some of which make views.
func usesIn(body []hostir.Stmt, makesView func(hostir.Stmt) bool) *uses {
	u := &uses{readers: map[*hostir.Tensor]int{}, viewed: map[*hostir.Tensor]*hostir.Tensor{}}
	for _, s := range body {
		for _, t := range hostir.Uses(s) {
			u.readers[t]++
		}
		if makesView(s) {
			u.viewed[hostir.Result(s)] = hostir.Uses(s)[0]
		}
	}
	return u
}

// madeView reports whether a statement makes its result a view of its operand.
func madeView(s hostir.Stmt) bool {
	out := hostir.Result(s)
	return out != nil && out.Role == hostir.View
}

// mayAddTo reports whether a ring may overwrite a tensor with sums. Neither the tensor nor a tensor that it
// is a view of may be an input or an output, or have more than one reader.
func (u *uses) mayAddTo(t *hostir.Tensor) bool {
	for ; t != nil; t = u.viewed[t] {
		if t.Role == hostir.Input || t.Role == hostir.Output || u.readers[t] > 1 {
			return false
		}
	}
	return true
}

// KeepsParts reports whether body has a sum over ranks whose partial sums may not be overwritten. They, or a tensor that they are a view
// of, are then an input or output, or have another reader. Views need not have the role View yet: KeepsParts treats the result of every
// statement that can make a view (hostir.MakesView) as a view.
func KeepsParts(body []hostir.Stmt) bool {
	u := usesIn(body, hostir.MakesView)
	for _, s := range body {
		r, ok := s.(*hostir.Reduce)
		if ok && hostir.SplitOver(r.In.Axes[r.Axis]) != "" && !u.mayAddTo(r.In) {
			return true
		}
	}
	return false
}
