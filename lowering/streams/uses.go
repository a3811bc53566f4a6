package streams

import (
	"github.com/hirgen/hirgen/lowering/hostir"
)

// uses records the readers of tensors, and which tensors are views of others.
type uses struct {
	readers map[*hostir.Tensor][]hostir.Stmt
	viewed  map[*hostir.Tensor]*hostir.Tensor // view -> the tensor that it is a view of
}

// usesIn collects the uses in a list of statements. makesView reports whether the result of a statement is a view.
func usesIn(body []hostir.Stmt, makesView func(hostir.Stmt) bool) *uses {
	u := &uses{hostir.Readers(body), map[*hostir.Tensor]*hostir.Tensor{}}
	for _, s := range body {
		if makesView(s) {
			u.viewed[hostir.Result(s)] = hostir.Uses(s)[0]
		}
	}
	return u
}

// madeView reports whether the result of a statement is a view of its operand.
func madeView(s hostir.Stmt) bool {
	out := hostir.Result(s)
	return out != nil && out.Role == hostir.View
}

// mayAddTo reports whether a ring may overwrite a tensor with sums. The tensor, and each tensor that it is a view of,
// may be neither an input nor an output, and may have only one reader.
func (u *uses) mayAddTo(t *hostir.Tensor) bool {
	for ; t != nil; t = u.viewed[t] {
		if t.Role == hostir.Input || t.Role == hostir.Output || len(u.readers[t]) > 1 {
			return false
		}
	}
	return true
}

// KeepsParts reports whether body has a sum over ranks whose partial sums may not be overwritten. That is so if the
// partial sums, or a tensor that they are a view of, are an input or an output, or have another reader. The role View
// may not be set yet, so KeepsParts treats the result of every statement that can make a view (hostir.MakesView) as a
// view.
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
