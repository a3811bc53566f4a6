package hostir

import "github.com/hirgen/hirgen/internal/expr"

// CopyStream is the name of the stream that carries all copies between the memories that
// ranks share, in the order of issue.
const CopyStream = "copies"

// StreamRef names a stream: a variable that GetCurrentStream defined, the copy stream, or
// the worker stream with the given index.
type StreamRef struct {
	Var   string    // "caller", or CopyStream; empty for a worker
	Index expr.Expr // worker index; nil when Var is set
}

// String prints a stream as statements name it: "caller", "worker s % 4".
func (r StreamRef) String() string {
	if r.Index == nil {
		return r.Var
	}
	return "worker " + r.Index.String()
}
