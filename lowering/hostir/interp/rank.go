package interp

import (
	"fmt"

	"github.com/hirgen/hirgen/internal/base/tasks"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
)

// rank issues the statements of one rank.
type rank struct {
	*hostir.Issue
	machine   *machine
	number    int // world rank
	calls     int // number of calls begun
	streams   map[string]*tasks.Stream
	current   *tasks.Stream // of the current statement
	views     map[*hostir.Tensor]*view
	aliases   map[*hostir.Tensor]bool     // views that a Reshape, Broadcast, Permute or Slice made
	started   hostir.Started[*tasks.Task] // the last task of each communication, for Wait
	turns     map[string]int              // how many meetings this rank has joined, by key of the team
	group     []*part                     // this rank's parts of the communications in the open group
	peerParts []peerPart                  // of the current PeerReadSum; nil outside of one
	grouping  bool                        // a group is open
	outputs   map[string]*Array
}

func newRank(m *machine, number int) *rank {
	r := &rank{
		machine: m, number: number, streams: map[string]*tasks.Stream{},
		views: map[*hostir.Tensor]*view{}, aliases: map[*hostir.Tensor]bool{}, turns: map[string]int{},
		outputs: map[string]*Array{},
	}
	r.Issue = hostir.NewIssue(m.program, number, r.statement)
	r.Fail = r.fail
	return r
}

// issue appends a task to a stream. The task also runs after the tasks in after.
func (r *rank) issue(s *tasks.Stream, stmt hostir.Stmt, run func() error, after ...*tasks.Task) *tasks.Task {
	t := r.machine.tasks.Issue(r.number, stmt, s, run, after...)
	r.machine.notes[t] = &note{stream: s, call: r.calls, iteration: r.Iteration(r.Loops)}
	return t
}

// call issues one call of the program. The caller fills the inputs, the statements run, and the caller reads the outputs
// (not in a rehearsal) and overwrites the inputs. The caller's work is on the caller's stream.
func (r *rank) call(inputs map[string]*Array, rehearsal bool) error {
	r.calls++
	r.started = hostir.Started[*tasks.Task]{}
	r.current = r.stream(CallersStream)
	for _, t := range r.machine.program.Tensors {
		if !r.holds(t) || t.Role != hostir.Input && t.Role != hostir.Output {
			continue
		}
		if r.views[t] == nil {
			r.views[t] = r.newBuffer(t)
		}
		if err := r.fill(t, inputs[t.Name], rehearsal); err != nil {
			return err
		}
	}
	if err := r.List(r.machine.program.Body); err != nil {
		return err
	}
	for _, t := range r.machine.program.Tensors {
		if t.Role == hostir.Output && r.holds(t) && !rehearsal {
			v := r.views[t]
			read := r.issue(r.stream(CallersStream), nil, func() error {
				r.outputs[t.Name] = v.read()
				return nil
			})
			r.machine.notes[read].touches = r.touches(nil, []*view{v})
		}
	}
	r.reuse()
	return nil
}

// reuse issues tasks that overwrite the inputs, as a caller may do after a call.
func (r *rank) reuse() {
	for _, t := range r.machine.program.Tensors {
		if v := r.views[t]; t.Role == hostir.Input && r.holds(t) {
			r.spoil(r.stream(CallersStream), nil, v)
		}
	}
}

// fill issues the task in which the caller writes a tensor. Inputs get their values, or other values in a rehearsal.
// Outputs get NaN.
func (r *rank) fill(t *hostir.Tensor, in *Array, rehearsal bool) error {
	v := r.views[t]
	if t.Role == hostir.Output {
		r.spoil(r.current, nil, v)
		return nil
	}
	if in == nil || int64(len(in.Data)) != v.Elements() {
		return fmt.Errorf("rank %d has no input %s with %d elements", r.number, t.Name, v.Elements())
	}
	write := r.issue(r.current, nil, func() error {
		i := 0
		v.each(func(at int64) {
			v.data[at] = in.Data[i]
			if rehearsal {
				v.data[at] = t.DType.Round(1 - 2*in.Data[i])
			}
			i++
		})
		return nil
	})
	r.machine.notes[write].touches = r.touches(nil, nil, v)
	return nil
}

// spoil issues a task that overwrites a buffer with NaN.
func (r *rank) spoil(on *tasks.Stream, s hostir.Stmt, v *view) {
	spoil := r.issue(on, s, func() error { v.spoil(); return nil })
	r.machine.notes[spoil].touches = r.touches(s, nil, v)
}

// holds reports whether the rank has a part of t.
func (r *rank) holds(t *hostir.Tensor) bool {
	return t.Mesh == nil || len(t.Mesh.Axes) == 0 || t.Mesh.Coordinate(r.number, t.Mesh.Axes[0].Name) >= 0
}

func (r *rank) fail(s hostir.Stmt, format string, args ...any) error {
	return fmt.Errorf("%s, rank %d, %s: %s", where(s.Meta().Pos), r.number, text.Statement(s), fmt.Sprintf(format, args...))
}
