package inplace

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// MakeOutputsInPlace computes reshaped and copied outputs directly in the caller's buffer. A reshape moves no element, so the
// buffer of its operand can be a view of the output. Ranks then gather directly into the output.
//
// Requires: buffers are allocated; local shards are views of the buffers that they are gathered into.
// Establishes: no row-major output is a copy of a row-major temporary that is allocated before it, unless a reshape copies
// into the temporary.
//
//	before: C_all = Allocate; (receive C_all_s, ...); C = Allocate; C = Reshape(C_all)
//	after:  C = Allocate; (receive C_all_s, ...), with C_all = Reshape(C)
func MakeOutputsInPlace(p *hostir.Program) error {
	for _, s := range slices.Clone(p.Body) {
		out := hostir.Result(s)
		if copies(s) && out.Role == hostir.Output && slices.IsSorted(hostir.Layout(out)) {
			makeIn(p, s, hostir.Uses(s)[0], out)
		}
	}
	return nil
}

// copies reports whether a statement copies all elements of its operand, in the same order.
func copies(s hostir.Stmt) bool {
	switch s := s.(type) {
	case *hostir.Reshape:
		return true
	case *hostir.Set:
		return hostir.SameLayout(s.In, s.Out)
	}
	return false
}

// makeIn removes s, which copies in to out. It makes the buffer of in a view of out, and allocates out early enough. It
// does nothing unless the buffer is a row-major temporary that is allocated before the output, and into which no reshape
// copies.
func makeIn(p *hostir.Program, s hostir.Stmt, in, out *hostir.Tensor) {
	place := func(t *hostir.Tensor) int {
		return slices.IndexFunc(p.Body, func(s hostir.Stmt) bool {
			a, allocates := s.(*hostir.Allocate)
			return allocates && a.Tensor == t
		})
	}
	buffer := reshapedFrom(in)
	before, after := place(buffer), place(out)
	if buffer.Role != hostir.Temp || before < 0 || after < before || !slices.IsSorted(hostir.Layout(buffer)) || isReshaped(p, buffer) {
		return
	}
	p.Body[before] = p.Body[after]
	p.Body = slices.Delete(p.Body, after, after+1)
	at := slices.Index(p.Body, s)
	p.Body = slices.Delete(p.Body, at, at+1)
	info := hostir.InfoFrom(s, "computed in the memory of the output")
	buffer.Role, buffer.Of = hostir.View, &hostir.Reshape{Info: info, Out: buffer, In: out}
}

// isReshaped reports whether a reshape copies into a buffer. If the buffer became a reshaped view, that copy would be
// read back from the text form as the statement that makes the view.
func isReshaped(p *hostir.Program, buffer *hostir.Tensor) bool {
	for r := range hostir.Each[*hostir.Reshape](p.Body) {
		if r.Out == buffer {
			return true
		}
	}
	return false
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
