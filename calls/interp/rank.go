package interp

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/text"
	"github.com/hirgen/hirgen/internal/base/tasks"
	"github.com/hirgen/hirgen/model/domain"

	"github.com/hirgen/hirgen/internal/base/expr"
)

// rank issues the calls of one rank.
type rank struct {
	machine *machine
	number  int64
	node    int
	begun   map[string]int // how many calls of a share this rank has begun: the sequence number of its flags
	walk    *calls.Issue
	env     calls.Values         // of walk
	memory  map[string][]float64 // arguments and buffers; nil where this rank has no part
	named   map[string]place     // pointers that statements declared
	streams map[string]*tasks.Stream
	alias   map[string]*tasks.Stream // streams that statements named
	events  map[string]*tasks.Task   // the last record of each event of this call
	turns   map[string]int           // how many meetings of a team this rank has joined
	group   []*part                  // of the open group
	grouped bool
	outputs map[string]*Array

	workspaces map[string]*tasks.Task // the last task that used each
	moved      *tasks.Task            // the end of the last communication, in a serialized run

	host     *tasks.Stream       // runs the steps of the program's life
	created  *tasks.Task         // the last step before the first call; nil: the program does not list its host steps
	things   map[string]*thing   // things that the steps make and free
	mappings map[string]*mapping // states of shares
	used     []func() error      // check that the things exist which the current statement uses
}

// place is a pointer: an element of some memory.
type place struct {
	data  []float64
	at    int64
	owner *rank  // nil: nowhere
	name  string // of the memory
	share string // by which it is reached
}

// allocate makes the memory of a rank, full of NaN. A memory may have buffers of several types. Then each buffer has as many
// cells as the smallest elements need. An element uses one cell, counted from the start of its buffer, so buffers without a
// common byte have no common cell.
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

// call issues one call of the program. On the caller's stream the caller fills the inputs, the calls run, and the caller reads
// the outputs and overwrites the inputs.
func (r *rank) call(inputs map[string]*Array, rehearsal bool) error {
	r.walk = calls.NewIssue(r.machine.program, r.number, r.statement)
	r.walk.Eval, r.walk.Accesses, r.walk.NoRank, r.env = r.eval, r.accesses, r.noRank, r.walk.Env
	r.named, r.events, r.alias = map[string]place{}, map[string]*tasks.Task{}, map[string]*tasks.Stream{}
	caller := r.stream(calls.Caller)
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
	if err := r.walk.List(r.machine.program.Body); err != nil {
		return err
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

// fill writes an input, with other values in a rehearsal.
func fill(data, in []float64, t domain.DType, rehearsal bool) {
	for i := range data {
		data[i] = in[i]
		if rehearsal {
			data[i] = t.Round(1 - 2*in[i])
		}
	}
}

func (r *rank) stream(name string) *tasks.Stream {
	s := r.streams[name]
	if s == nil {
		s = &tasks.Stream{Name: name}
		r.streams[name] = s
		if r.created != nil {
			r.machine.tasks.Issue(int(r.number), nil, s, nil, r.created)
		}
	}
	return s
}

// on returns the stream that a statement uses.
func (r *rank) on(s calls.Stmt, on calls.Stream) (*tasks.Stream, error) {
	stream, err := r.streamOf(s, on)
	if err == nil {
		r.onStream(stream.Name)
	}
	return stream, err
}

func (r *rank) streamOf(s calls.Stmt, on calls.Stream) (*tasks.Stream, error) {
	switch {
	case on.Index != nil:
		i, err := r.eval(s, on.Index)
		if err != nil {
			return nil, err
		}
		if i < 0 || i >= int64(r.machine.program.Streams) {
			return nil, r.fail(s, "there is no compute stream %d among %d", i, r.machine.program.Streams)
		}
		return r.stream(fmt.Sprint("compute ", i)), nil
	case on.Name == calls.Caller || on.Name == calls.Copies || on.Team:
		return r.stream(on.Name), nil
	}
	if named := r.alias[on.Name]; named != nil {
		return named, nil
	}
	return nil, r.fail(s, "no stream is named %s", on)
}

func (r *rank) issue(s calls.Stmt, on *tasks.Stream, run func() error, after ...*tasks.Task) *tasks.Task {
	var what any
	if s != nil {
		what, run = s, r.checked(s, run)
	}
	return r.machine.tasks.Issue(int(r.number), what, on, run, after...)
}

func (r *rank) eval(s calls.Stmt, e expr.Expr) (int64, error) {
	v, ok := r.env.Eval(e)
	if !ok {
		return 0, r.fail(s, "%s has no value", e)
	}
	return v, nil
}

func (r *rank) noRank(l *calls.Let) error { return r.fail(l, "there is no rank at %s", l.At) }

func (r *rank) fail(s calls.Stmt, format string, args ...any) error {
	return fmt.Errorf("%s, rank %d, %s: %s", s.Meta().Pos, r.number, text.Statement(s), fmt.Sprintf(format, args...))
}

// at resolves a pointer. A rank without the memory gets a place without data.
func (r *rank) at(s calls.Stmt, p calls.Pointer) (place, error) {
	if p.Base == "" {
		return place{}, nil
	}
	base, ok := r.named[p.Base]
	switch {
	case p.Peer != nil:
		peer, err := r.eval(s, p.Peer)
		if err != nil {
			return place{}, err
		}
		if base, err = r.remote(s, p.Base, peer); err != nil {
			return base, err
		}
	case !ok:
		base = place{data: r.memory[p.Base], owner: r, name: p.Base}
	}
	if base.owner != nil {
		r.touches(base.owner, base.share, base.name)
	}
	if p.Offset == nil {
		return base, nil
	}
	offset, err := r.eval(s, p.Offset)
	base.at += offset
	return base, err
}

// remote returns a peer's part of a share.
func (r *rank) remote(s calls.Stmt, share string, number int64) (place, error) {
	d, peer := r.machine.shares[share], r.machine.rank(number)
	switch {
	case d == nil || peer == nil:
		return place{}, r.fail(s, "rank %d shares nothing as %s", number, share)
	case peer.node != r.node:
		return place{}, r.fail(s, "rank %d is on another node", number)
	case !r.joins(d, number):
		return place{}, r.fail(s, "no memory is shared with rank %d", number)
	}
	return place{data: peer.memory[d.Memory], owner: peer, name: d.Memory, share: share}, nil
}

// joins reports whether this rank shares memory with the rank other.
func (r *rank) joins(d *calls.Share, other int64) bool {
	if d.Mesh == "" {
		return true
	}
	p := r.machine.program
	m := p.MeshNamed(d.Mesh)
	for axis := range m.Extents {
		mine, _ := p.Coordinate(m, int64(axis), r.number)
		theirs, _ := p.Coordinate(m, int64(axis), other)
		if mine < 0 || theirs < 0 || int64(axis) != d.Axis && mine != theirs {
			return false
		}
	}
	return true
}

// run returns n elements from a place on.
func (r *rank) run(s calls.Stmt, p place, n int64) ([]float64, error) {
	if p.data == nil || p.at < 0 || p.at+n > int64(len(p.data)) {
		return nil, r.fail(s, "elements %d to %d are outside of %d", p.at, p.at+n, len(p.data))
	}
	return p.data[p.at : p.at+n], nil
}

// slice resolves a pointer to a number of elements.
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
