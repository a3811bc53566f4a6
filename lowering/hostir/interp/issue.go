package interp

import (
	"strconv"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/tasks"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// statement issues the tasks of a statement. The stream of the statement becomes the current stream.
func (r *rank) statement(s hostir.Stmt) error {
	if hostir.Is[*hostir.GetCurrentStream](s) {
		return nil
	}
	on, err := r.target(s, s.Meta().On)
	if err != nil {
		return err
	}
	r.current = on
	switch s := s.(type) {
	case *hostir.Delay:
		r.issue(r.current, s, nil)
		return nil
	case *hostir.Synchronize:
		target, err := r.target(s, s.Stream)
		if err == nil {
			r.issue(r.current, s, nil, target.Last())
		}
		return err
	case *hostir.PeerReadSum:
		return r.peerReadSum(s)
	case *hostir.Allocate, *hostir.Deallocate:
		return r.buffer(s)
	case *hostir.Communication, *hostir.P2PCommunication, *hostir.StartCoalescing, *hostir.EndCoalescing, *hostir.Wait,
		*hostir.ShareMemHandles:
		return r.transfer(s)
	default:
		return r.compute(s)
	}
}

func (r *rank) target(s hostir.Stmt, ref hostir.StreamRef) (*tasks.Stream, error) {
	switch {
	case ref.Copies:
		return r.stream(hostir.CopyStream), nil
	case ref.Index == nil:
		return r.stream(CallersStream), nil
	}
	index, err := r.EvalIn(s, ref.Index)
	if err != nil {
		return nil, err
	}
	if index < 0 || index >= int64(r.machine.program.Streams) {
		return nil, r.fail(s, "there is no worker %d among %d", index, r.machine.program.Streams)
	}
	return r.stream("worker " + strconv.FormatInt(index, 10)), nil
}

// buffer handles the statements that make and free buffers.
func (r *rank) buffer(s hostir.Stmt) error {
	switch s := s.(type) {
	case *hostir.Allocate:
		if r.views[s.Tensor] == nil && r.holds(s.Tensor) {
			r.views[s.Tensor] = r.newBuffer(s.Tensor)
		}
	case *hostir.Deallocate:
		v, err := r.view(s, s.Tensor)
		if err != nil || v == nil {
			return err
		}
		delete(r.views, s.Tensor)
		r.spoil(r.current, s, v)
	}
	return nil
}

// view returns the rank's part of t; nil on a rank that has no part of t.
func (r *rank) view(s hostir.Stmt, t *hostir.Tensor) (*view, error) {
	if t.Of != nil && r.holds(t) {
		return r.window(s, t)
	}
	v := r.views[t]
	if v == nil && r.holds(t) && !r.machine.allocates && t.Role == hostir.Temp {
		v = r.newBuffer(t) // before streams are lowered, buffers need no statement
		r.views[t] = v
	}
	if v == nil && r.holds(t) {
		return nil, r.fail(s, "%s has no buffer", t.Name)
	}
	return v, nil
}

// window returns the rank's part of a view, in the current iteration.
func (r *rank) window(s hostir.Stmt, t *hostir.Tensor) (*view, error) {
	w, err := hostir.WindowOf(t, func(e expr.Expr) (int64, error) { return r.EvalIn(s, e) })
	switch {
	case err != nil:
		return nil, r.fail(s, "%v", err)
	case w.Whole:
		return nil, r.fail(s, "a view cannot reshape a buffer that is not row-major")
	}
	buffer, err := r.view(s, w.Buffer)
	if err != nil || buffer == nil {
		return nil, err
	}
	return &view{buffer.data, w}, nil
}

// compute issues a statement that computes: on this rank, or together with other ranks if it needs elements of other
// ranks. A statement that makes a view gets no task.
func (r *rank) compute(s hostir.Stmt) error {
	if crosses(s) {
		if r.machine.allocates && !hostir.MayMove(s) {
			return r.fail(s, "it needs elements of other ranks, and a lowered program computes on one rank")
		}
		return r.together(s)
	}
	out := hostir.Result(s)
	if !r.holds(out) {
		return nil
	}
	in, err := r.operands(s)
	if err != nil {
		return err
	}
	if out.Role == hostir.View && out.Of == nil && (r.views[out] == nil || r.aliases[out]) {
		v, err := r.alias(s, in[0])
		r.views[out], r.aliases[out] = v, true
		return err
	}
	results, err := r.results(s)
	if err != nil {
		return err
	}
	k, err := r.kernel(s, results, in)
	if err != nil {
		return r.fail(s, "%v", err)
	}
	r.machine.notes[r.issue(r.current, s, k)].touches = r.touches(s, in, results...)
	return nil
}

// operands returns the buffers that a statement reads. A buffer is nil if this rank has no part of the
// tensor.
func (r *rank) operands(s hostir.Stmt) ([]*view, error) { return r.parts(s, hostir.Uses(s)) }

// results returns the buffers that a statement writes. A buffer is nil if this rank has no part of the
// tensor.
func (r *rank) results(s hostir.Stmt) ([]*view, error) { return r.parts(s, hostir.Defs(s)) }

func (r *rank) parts(s hostir.Stmt, tensors []*hostir.Tensor) ([]*view, error) {
	views := make([]*view, len(tensors))
	for i, t := range tensors {
		var err error
		if views[i], err = r.view(s, t); err != nil {
			return nil, err
		}
	}
	return views, nil
}

// alias makes the result of a Reshape, Broadcast, Permute or Slice a view of its operand.
func (r *rank) alias(s hostir.Stmt, in *view) (*view, error) {
	w := in.Aliased(s)
	if w.Whole {
		return nil, r.fail(s, "a view cannot reshape a buffer that is not row-major")
	}
	return &view{in.data, w}, nil
}
