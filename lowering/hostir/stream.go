package hostir

import "github.com/hirgen/hirgen/internal/base/expr"

const (
	// Caller is the name of the stream that a program is called with.
	Caller = "caller"
	// CopyStream is the name of the stream that carries copies between the memories that ranks
	// share, in the order of issue. A PeerReadSum accesses the memory of its peers on its own stream.
	CopyStream = "copies"
)

// StreamRef refers to a stream: the worker stream with the given index, the copy stream, or, as the zero value, the caller's
// stream.
type StreamRef struct {
	Copies bool      // the copy stream
	Index  expr.Expr // index of a worker stream; nil: not a worker stream
}

// String returns the stream as statements print it: "caller", "worker s % 4".
func (r StreamRef) String() string {
	switch {
	case r.Index != nil:
		return "worker " + r.Index.String()
	case r.Copies:
		return CopyStream
	}
	return Caller
}

// IsWorker reports whether r is a worker stream.
func (r StreamRef) IsWorker() bool { return r.Index != nil }

// Is reports whether two references at the same position of a program refer to the same stream, comparing the text of indices.
func (r StreamRef) Is(other StreamRef) bool {
	return r.Copies == other.Copies && (r.Index == nil) == (other.Index == nil) && (r.Index == nil || r.String() == other.String())
}

// RunOn sets the stream of statements and nested statements, except For, If, Allocate and GetCurrentStream, which are issued
// to no stream.
func RunOn(on StreamRef, body ...Stmt) {
	for s := range All(body) {
		switch s.(type) {
		case *For, *If, *Allocate, *GetCurrentStream:
		default:
			s.Meta().On = on
		}
	}
}
