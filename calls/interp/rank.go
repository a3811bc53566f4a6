package interp

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/issue"
	"github.com/hirgen/hirgen/calls/text"
	"github.com/hirgen/hirgen/internal/base/tasks"
	"github.com/hirgen/hirgen/model/domain"

	"github.com/hirgen/hirgen/internal/base/expr"
)

// rank issues the calls of one rank as tasks.
type rank struct {
	machine *machine
	number  int64
	node    int
	begun   []int32 // by index in calls.Program.Shares: how many calls of the share this rank has begun, in all calls of the program
	walk    *issue.Rank
	err     error                // the first error of this call
	memory  map[string][]float64 // arguments and buffers by name; none for memory that this rank does not have
	streams map[int16]*tasks.Stream
	events  map[int32]*tasks.Task // of each event: its last record in this call
	turns   map[pairing]int       // number of meetings of each pairing that this rank has joined
	group   []*part               // the parts of the open NCCL group
	grouped bool
	outputs map[string]*Array

	workspaces map[int32]*tasks.Task // the last task that acquired each workspace
	moved      *tasks.Task           // the end of this rank's last communication, in a serialized run

	host     *tasks.Stream       // runs the steps of the program's life
	created  *tasks.Task         // the last step before the first call; nil: the program does not list its host steps
	things   map[string]*thing   // by name: what the steps make and free
	mappings map[string]*mapping // by name of a calls.Share: its state
	used     []func() error      // checks that the things that the current statement uses exist
}

// place is a resolved pointer: data is the memory of a buffer, and at the index of an element in it.
type place struct {
	data []float64
	at   int64
	issue.Place
}

// allocate makes the memory of a rank, full of NaN. One memory may contain buffers of several types; it has one cell
// for each element of the smallest type. Element i of a buffer uses the i-th cell after the start of the buffer, so
// buffers without a common byte have no common cell.
func (r *rank) allocate() {
	p := r.machine.program
	v := p.Values()
	type named struct {
		*calls.Buffer
		in string
	}
	var list []named
	for _, a := range p.Arguments {
		if a.Mesh == "" || p.Position(p.MeshNamed(a.Mesh), r.number) >= 0 {
			list = append(list, named{&calls.Buffer{Name: a.Name, Type: a.Type, Elements: a.Elements}, a.Name})
		}
	}
	for _, d := range p.Buffers {
		if d.Guard == "" || p.Holds(d.Guard, r.number) {
			list = append(list, named{d, cmp.Or(d.In, d.Name)})
		}
	}
	cell, bytes, cells := map[string]int64{}, map[string]int64{}, map[string][]float64{}
	for _, d := range list {
		elements, _ := v.Eval(d.Elements)
		n := d.Type.Size()
		cell[d.in] = min(cmp.Or(cell[d.in], n), n)
		bytes[d.in] = max(bytes[d.in], d.Offset+elements*n)
	}
	for _, d := range list {
		if cells[d.in] == nil {
			cells[d.in] = spoilt((bytes[d.in] + cell[d.in] - 1) / cell[d.in])
		}
		elements, _ := v.Eval(d.Elements)
		at := d.Offset / cell[d.in]
		r.memory[d.Name] = cells[d.in][at : at+elements : at+elements]
	}
}

func spoilt(n int64) []float64 {
	data := make([]float64, n)
	spoil(data)
	return data
}

func spoil(data []float64) {
	for i := range data {
		data[i] = nan
	}
}

// call issues one call of the program. On the caller's stream, tasks fill the inputs and overwrite the outputs with NaN
// before the call. After it, they read the outputs, unless this is a rehearsal, and overwrite the inputs.
func (r *rank) call(inputs map[string]*Array, rehearsal bool) error {
	r.walk, r.err, r.events = r.machine.world.Rank(int32(r.number)), nil, map[int32]*tasks.Task{}
	r.walk.Fault = func(s calls.Stmt, _ issue.FaultKind, format string, args ...any) {
		r.failed(r.fail(s, format, args...))
	}
	if r.begun != nil {
		r.walk.Begun = r.begun
	}
	r.begun = r.walk.Begun
	caller := r.stream(issue.Caller)
	for _, a := range r.machine.program.Arguments {
		data := r.memory[a.Name]
		if data == nil {
			continue
		}
		if a.Output {
			r.issue(nil, caller, func() error { spoil(data); return nil })
			continue
		}
		in := inputs[a.Tensor]
		if in == nil || len(in.Data) != len(data) {
			return fmt.Errorf("rank %d has no input %s with %d elements", r.number, a.Tensor, len(data))
		}
		r.issue(nil, caller, func() error { fill(data, in.Data, a.Type, rehearsal); return nil })
	}
	if r.walk.Run(r.machine.program.Body, r.visit); r.err != nil {
		return r.err
	}
	for _, a := range r.machine.program.Arguments {
		data := r.memory[a.Name]
		switch {
		case data == nil:
		case !a.Output:
			r.issue(nil, caller, func() error { spoil(data); return nil })
		case !rehearsal:
			r.issue(nil, caller, func() error {
				r.outputs[a.Tensor] = &Array{Data: slices.Clone(data)}
				return nil
			})
		}
	}
	return nil
}

// fill writes an input. In a rehearsal it writes 1 - 2x for each value x.
func fill(data, in []float64, t domain.DType, rehearsal bool) {
	for i := range data {
		data[i] = in[i]
		if rehearsal {
			data[i] = t.Round(1 - 2*in[i])
		}
	}
}

// stream returns a stream, and records that the current statement uses it.
func (r *rank) stream(number int16) *tasks.Stream {
	s := r.streams[number]
	if s == nil {
		s = &tasks.Stream{Name: r.machine.world.Streams[number]}
		r.streams[number] = s
		if r.created != nil {
			r.machine.tasks.Issue(int(r.number), nil, s, nil, r.created)
		}
	}
	r.onStream(number)
	return s
}

// on returns the stream on which a statement runs.
func (r *rank) on(s calls.Stmt, on calls.Stream) (*tasks.Stream, error) {
	n, ok := r.walk.On(s, on)
	if !ok {
		return nil, r.err
	}
	return r.stream(n), nil
}

func (r *rank) issue(s calls.Stmt, on *tasks.Stream, run func() error, after ...*tasks.Task) *tasks.Task {
	var what any
	if s != nil {
		what, run = s, r.checked(s, run)
	}
	return r.machine.tasks.Issue(int(r.number), what, on, run, after...)
}

func (r *rank) eval(s calls.Stmt, e expr.Expr) (int64, error) {
	v, ok := r.walk.Value(s, e)
	return v, r.unless(ok)
}

// failed records the first error of a call, and ignores later ones.
func (r *rank) failed(err error) {
	if r.err == nil {
		r.err = err
	}
}

// unless returns nil if ok is true, and the first error of this call otherwise.
func (r *rank) unless(ok bool) error {
	if ok {
		return nil
	}
	return r.err
}

func (r *rank) fail(s calls.Stmt, format string, args ...any) error {
	return fmt.Errorf("%s, rank %d, %s: %s", s.Meta().Pos, r.number, text.Statement(s), fmt.Sprintf(format, args...))
}

// at resolves a pointer. The place has no data if the pointer is null, or if its owner does not have the memory.
func (r *rank) at(s calls.Stmt, p calls.Pointer) (place, error) {
	at, ok := r.walk.At(s, p)
	if !ok || at.Of == nil {
		return place{Place: at}, r.unless(ok)
	}
	owner := r.machine.rank(int64(at.Owner))
	r.touches(owner, at.Share, at.Of.Name)
	return place{owner.memory[at.Of.Name], (at.Offset - at.Of.First) / at.Type.Size(), at}, nil
}

// run returns the n elements that begin at a place. It is an error if they are not all inside the memory.
func (r *rank) run(s calls.Stmt, p place, n int64) ([]float64, error) {
	if p.data == nil || p.at < 0 || p.at+n > int64(len(p.data)) {
		return nil, r.fail(s, "elements %d to %d are outside of %d", p.at, p.at+n, len(p.data))
	}
	return p.data[p.at : p.at+n], nil
}

// slice returns the elements that begin at a pointer.
func (r *rank) slice(s calls.Stmt, p calls.Pointer, elements expr.Expr) ([]float64, error) {
	n, err := r.eval(s, elements)
	if err != nil {
		return nil, err
	}
	at, err := r.at(s, p)
	if err != nil {
		return nil, err
	}
	return r.run(s, at, n)
}
