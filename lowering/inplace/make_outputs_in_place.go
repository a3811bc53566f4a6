package inplace

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// MakeOutputsInPlace computes reshaped outputs directly in the caller's buffer. A reshape moves no element, so the
// buffer of its operand can be a view of the output. Ranks then gather rows there.
//
// Requires: buffers are allocated; local shards are views of the buffers that they are gathered into.
// Establishes: no output is a copy of a buffer with the same layout.
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

// makeIn makes the operand of a reshape a view of the output, and allocates the output early enough.
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

// isReshaped reports whether a reshape copies into a buffer. If the buffer became a reshaped view, the text form would
// read that copy back as the view.
func isReshaped(p *hostir.Program, buffer *hostir.Tensor) bool {
	found := false
	hostir.Walk(p.Body, func(s hostir.Stmt) bool {
		r, reshapes := s.(*hostir.Reshape)
		found = found || reshapes && r.Out == buffer
		return !found
	})
	return found
}

// reshapedFrom follows reshaped views of a tensor to the tensor that they are made of.
func reshapedFrom(t *hostir.Tensor) *hostir.Tensor {
	for {
		of, reshapes := t.Of.(*hostir.Reshape)
		if !reshapes {
			return t
		}
		t = of.In
	}
}
