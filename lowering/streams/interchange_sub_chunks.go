package streams

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/shard"
	"github.com/hirgen/hirgen/model/schedule"
)

// InterchangeSubChunks merges pipelines whose slices are split into the same sub-chunks into one loop over the
// sub-chunks (interchange: true). In the order of statements, the parts of a sub-chunk are computed and summed, and the
// sum is gathered, before the next sub-chunk. So pass overlap can run the gather of one sub-chunk while the next one is
// computed. The pass swaps the loop over slices with the loop over sub-chunks inside of it, and merges adjacent loops
// over the same sub-chunks. Both change the order of sub-chunks and slices. So the loops may access each buffer that
// they write only by sub-chunk, along one axis. If the user sets interchange where a statement does not allow it, the
// pass reports the dependency that would be violated.
//
// Requires: a pipeline of sub-chunks is a loop over slices around a loop over their sub-chunks.
// Establishes: no two adjacent loops over sub-chunks could be one loop.
//
//	before: For s: For c: P_s_c = ...; For c: R_c = Reduce(P_parts_c); For s: For c: C_s_c = ...
//	after:  For c: (For s: P_s_c = ...; R_c = Reduce(P_parts_c); For s: C_s_c = ...)
func InterchangeSubChunks(p *hostir.Program) error {
	if interchanged(p) == 0 {
		return nil
	}
	f := &interchange{program: p, subChunks: interchanged(p)}
	body := make([]hostir.Stmt, 0, len(p.Body))
	for _, s := range p.Body {
		loop := f.swapLoops(s)
		if loop == nil {
			body = f.append(body, s)
			continue
		}
		body = f.append(body, loop)
	}
	p.Body = body
	return f.errors.Err()
}

// interchange swaps and merges loops over sub-chunks.
type interchange struct {
	program   *hostir.Program
	subChunks int64
	errors    diag.List
}

// overSubChunks returns s if it is a loop over sub-chunks; nil otherwise.
func (f *interchange) overSubChunks(s hostir.Stmt) *hostir.For {
	loop, ok := s.(*hostir.For)
	if !ok || loop.First != 0 || loop.Count.Size != f.subChunks {
		return nil
	}
	if !hostir.Any(loop.Body, func(s hostir.Stmt) bool { return hostir.NamesPart(s, f.subChunks, loop.Var) }) {
		return nil
	}
	return loop
}

// swapLoops swaps a loop over slices and the loop over sub-chunks inside of it. It returns nil for any other statement,
// and for loops that have to stay in their order because of an edge.
func (f *interchange) swapLoops(s hostir.Stmt) *hostir.For {
	slice, ok := s.(*hostir.For)
	if !ok {
		return nil
	}
	at := slices.IndexFunc(slice.Body, func(s hostir.Stmt) bool { return f.overSubChunks(s) != nil })
	if at < 0 {
		return nil
	}
	subChunk := f.overSubChunks(slice.Body[at])
	if buffer, edge := f.edge(subChunk.Var, slice.Body); buffer != nil {
		f.refuse(slice, buffer, edge)
		return nil
	}
	slice.Body = slices.Concat(slice.Body[:at], subChunk.Body, slice.Body[at+1:])
	return &hostir.For{
		Info: hostir.InfoFrom(slice, subChunkNote),
		Var:  subChunk.Var, Count: subChunk.Count, Body: []hostir.Stmt{slice},
	}
}

// append adds a statement to a list. It merges two adjacent loops over the same sub-chunks if their sub-chunks are
// independent. It inserts an Allocate before the loops over sub-chunks that end the list.
func (f *interchange) append(body []hostir.Stmt, s hostir.Stmt) []hostir.Stmt {
	n := len(body)
	for n > 0 && f.overSubChunks(body[n-1]) != nil {
		n--
	}
	if hostir.Is[*hostir.Allocate](s) || n == len(body) {
		return slices.Insert(body, n, s)
	}
	last, next := f.overSubChunks(body[len(body)-1]), f.overSubChunks(s)
	if next == nil || next.Var != last.Var || !f.independent(last.Var, slices.Concat(last.Body, next.Body)) {
		return append(body, s)
	}
	last.Body = append(last.Body, next.Body...)
	return body
}

// independent reports whether statements for one sub-chunk never access elements that the statements write for another
// sub-chunk.
func (f *interchange) independent(variable string, body []hostir.Stmt) bool {
	buffer, _ := f.edge(variable, body)
	return buffer == nil
}

// edge returns a buffer that statements write but do not access strictly by sub-chunk along one axis; nil if there is
// none. ends are the first statement that writes the buffer, and the first one that accesses more than the current
// sub-chunk, or a sub-chunk along another axis.
func (f *interchange) edge(variable string, body []hostir.Stmt) (buffer *hostir.Tensor, ends [2]hostir.Stmt) {
	along, written, mixed := map[*hostir.Tensor]int{}, map[*hostir.Tensor]hostir.Stmt{}, map[*hostir.Tensor]hostir.Stmt{}
	for s := range hostir.All(body) {
		for _, t := range hostir.Mentions(s) {
			for _, r := range f.regions(t, variable) {
				axis, known := along[r.buffer]
				if mixed[r.buffer] == nil && (r.subChunk == shard.NoAxis || known && axis != r.subChunk) {
					mixed[r.buffer] = s
				}
				along[r.buffer] = r.subChunk
				if written[r.buffer] == nil && slices.Contains(hostir.Defs(s), t) {
					written[r.buffer] = s
				}
				if buffer == nil && written[r.buffer] != nil && mixed[r.buffer] != nil {
					buffer = r.buffer
				}
			}
		}
	}
	return buffer, [2]hostir.Stmt{written[buffer], mixed[buffer]}
}

// refuse reports the edge that interchange: true would violate, if the user set interchange for a transfer in the loop
// over slices. It reports nothing for the fallback variant.
func (f *interchange) refuse(slice *hostir.For, buffer *hostir.Tensor, ends [2]hostir.Stmt) {
	from, to := ends[0], ends[1]
	var chosen schedule.Choice
	for t := range hostir.Each[*hostir.P2PCommunication](slice.Body) {
		if chosen.Value != schedule.True {
			chosen, _ = f.program.Choices.Chosen(hostir.CommunicationOf(t), schedule.Interchange)
		}
	}
	if chosen.Value != schedule.True || !f.program.Given(chosen) || f.program.Choices.InterNode != "" {
		return
	}
	kind, verb := "data", "reads"
	if slices.Contains(hostir.Defs(to), buffer) || to == from {
		kind, verb = "reuse", "makes"
	}
	d := hostir.Refuse(&f.errors, f.program, to, chosen.Of, schedule.Interchange,
		"the loop over sub-chunks cannot be outside of that over shards: %s %s more than one sub-chunk of %s",
		hostir.Work(f.program, to), verb, hostir.Called(f.program, to, buffer))
	hostir.NoteEdge(d, f.program, kind, from).WithHint("leave out interchange; or keep %s out of the pipeline, without a Stream axis",
		hostir.Called(f.program, to, buffer))
}

// region is a part of a buffer: the current sub-chunk along axis subChunk of the buffer or, if subChunk is
// shard.NoAxis, possibly more. axes has, for each axis of a view of the region, the corresponding axis of the buffer,
// or shard.NoAxis if that is unknown.
type region struct {
	buffer   *hostir.Tensor
	subChunk int
	axes     []int
}

// regions returns the parts of buffers that a tensor may refer to, one for each alternative of its view.
func (f *interchange) regions(t *hostir.Tensor, variable string) []region {
	switch of := t.Of.(type) {
	case nil:
		return []region{{buffer: t, subChunk: shard.NoAxis, axes: lists.Numbers(len(t.Axes))}}
	case *hostir.Either:
		return slices.Concat(f.regions(of.Then, variable), f.regions(of.Else, variable))
	}
	var list []region
	for _, r := range f.regions(hostir.Uses(t.Of)[0], variable) {
		list = append(list, f.within(t, r, variable))
	}
	return list
}

// within returns the part of a region that a view selects.
func (f *interchange) within(t *hostir.Tensor, r region, variable string) region {
	sel, ok := t.Of.(*hostir.Select)
	switch {
	case !ok:
		return region{r.buffer, r.subChunk, slices.Repeat([]int{shard.NoAxis}, len(t.Axes))}
	case sel.Parts == 0:
		r.axes = lists.Without(r.axes, sel.Axis)
	case sel.Parts == f.subChunks && sel.Index == expr.Var(variable):
		r.subChunk = r.axes[sel.Axis]
	}
	return r
}
