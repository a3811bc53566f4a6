package inplace

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// MakeOutputsInPlace makes what is reshaped to an output in the caller's buffer: a reshape moves no element, so that the
// buffer of its operand can be a view of the output. Ranks gather rows there.
//
// Requires: buffers are allocated; local shards are views of what they are gathered into.
// Establishes: no output is a copy of a buffer that lies as it does.
//
//	before: C_all = Allocate; (receive C_all_s, ...); C = Allocate; C = Reshape(C_all)
//	after:  C = Allocate; (receive C_all_s, ...), with C_all = Reshape(C)
func MakeOutputsInPlace(p *hostir.Program) error {
	for _, s := range slices.Clone(p.Body) {
		if r, reshapes := s.(*hostir.Reshape); reshapes && r.Out.Role == hostir.Output && slices.IsSorted(hostir.Layout(r.Out)) {
			makeIn(p, r)
		}
	}
	return nil
}

// makeIn makes the buffer that is reshaped to an output a view of that, which is allocated before.
func makeIn(p *hostir.Program, r *hostir.Reshape) {
	place := func(t *hostir.Tensor) int {
		return slices.IndexFunc(p.Body, func(s hostir.Stmt) bool {
			a, allocates := s.(*hostir.Allocate)
			return allocates && a.Tensor == t
		})
	}
	buffer := reshapedFrom(r.In)
	before, after := place(buffer), place(r.Out)
	if buffer.Role != hostir.Temp || before < 0 || after < before || !slices.IsSorted(hostir.Layout(buffer)) || isReshaped(p, buffer) {
		return
	}
	p.Body[before] = p.Body[after]
	p.Body = slices.Delete(p.Body, after, after+1)
	at := slices.Index(p.Body, hostir.Stmt(r))
	p.Body = slices.Delete(p.Body, at, at+1)
	buffer.Role, buffer.Of = hostir.View, &hostir.Reshape{Info: hostir.InfoFrom(r, "made where the output is"), Out: buffer, In: r.Out}
}

// isReshaped reports whether a reshape copies into a buffer: into a view that a reshape makes, it would be that.
func isReshaped(p *hostir.Program, buffer *hostir.Tensor) bool {
	found := false
	hostir.Walk(p.Body, func(s hostir.Stmt) bool {
		r, reshapes := s.(*hostir.Reshape)
		found = found || reshapes && r.Out == buffer
		return !found
	})
	return found
}

// reshapedFrom is what a tensor is a reshaped view of, or the tensor.
func reshapedFrom(t *hostir.Tensor) *hostir.Tensor {
	for {
		of, reshapes := t.Of.(*hostir.Reshape)
		if !reshapes {
			return t
		}
		t = of.In
	}
}
