package values

import (
	"fmt"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/prove/events"
	"github.com/hirgen/hirgen/prove/unroll"
)

// machine runs the operations of all ranks in the field, in the order in which events.Run visits them.
type machine struct {
	p        *unroll.Program
	f        *field
	memory   [][]*cells             // by rank and memory; nil: the rank has none, or the memory has no elements
	meetings map[partOf]*meeting    // meetings by the parts that take part
	inputs   []map[string][]float64 // inputs by rank and tensor
	outputs  []map[string]result    // results for the caller, by rank and tensor
	err      error                  // the first error
	shapes   map[string]*calls.Shape
	views    operands // views of the current operation
	by       int32    // the statement of the current operation; -1: none
}

// call runs one call of a program. The machine must be new.
func (m *machine) call(p *unroll.Program, f *field, inputs []map[string][]float64) error {
	*m = machine{p: p, f: f, memory: make([][]*cells, len(p.Ranks)), inputs: inputs, outputs: make([]map[string]result, len(p.Ranks)),
		shapes: calls.ByName(p.Calls.Shapes), views: operands{}, by: nobody}
	sizes := cellSizes(p)
	for r := range p.Ranks {
		m.memory[r] = make([]*cells, len(p.Memories))
		for n, d := range p.Memories {
			if p.Ranks[r].Has[n] && elementsOf(d) > 0 {
				m.memory[r][n] = f.newCells(int64(r), int64(n), d.Bytes, sizes[n])
			}
		}
	}
	m.meet()
	if stuck := events.Run(p, events.Options{Mode: events.Ideal, Calls: 1, Visit: m.run}); stuck != nil && m.err == nil {
		m.err = fmt.Errorf("it does not end")
	}
	m.by = nobody // what follows is about no statement
	return m.err
}

// run runs an operation. All operations that it follows have run before.
func (m *machine) run(rank, op int32) {
	if m.err != nil {
		return
	}
	r := &m.p.Ranks[rank]
	o := &r.Ops[op]
	if o.Accesses.First == o.Accesses.End {
		return
	}
	m.by = o.Stmt
	views := m.views
	clear(views)
	for _, a := range r.AccessesOf(o) {
		if o.Kind != unroll.Nccl && m.memory[a.Owner][a.Memory] != nil && a.Operand >= 0 {
			views[a.Operand] = m.view(a)
		}
	}
	switch o.Kind {
	case unroll.CallBegin:
		m.handOver(rank, views)
	case unroll.CallEnd:
		m.takeBack(rank, views)
	case unroll.Copy, unroll.Transfer:
		views[0].write(views[1].read(), o.Stmt)
	case unroll.PeerSum:
		m.peerSum(r, o)
	case unroll.Nccl:
		for i := range r.PartsOf(o) {
			m.exchange(m.meetings[partOf{rank, o.Parts.First + int32(i)}])
		}
	case unroll.Gemm:
		m.gemm(o, views)
	case unroll.Attend:
		m.attend(rank, o, views)
	case unroll.Launch:
		m.launch(o, views)
	}
}

// handOver writes the values of the inputs to their arguments.
func (m *machine) handOver(rank int32, views operands) {
	for n, v := range views {
		d := m.p.Calls.Arguments[n]
		if d.Output {
			continue
		}
		values := m.inputs[rank][d.Tensor]
		if has := v.elements(); has != int64(len(values)) {
			m.err = fmt.Errorf("input %s has %d elements on rank %d, and the model says %d", d.Tensor, has, rank, len(values))
			return
		}
		v.write(values, nobody)
	}
}

// result is an output as the caller reads it, row-major.
type result struct {
	data   []float64
	writer []int32 // the statement that wrote each element last; -1: none
}

// takeBack stores the outputs of a rank.
func (m *machine) takeBack(rank int32, views operands) {
	m.outputs[rank] = map[string]result{}
	for n, v := range views {
		if d := m.p.Calls.Arguments[n]; d.Output {
			var writer []int32
			v.each(func(at int64) { writer = append(writer, v.writer[at]) })
			m.outputs[rank][d.Tensor] = result{v.read(), writer}
		}
	}
}

// fail records the first operation that the machine cannot run.
func (m *machine) fail(stmt int32, format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf("%s: %s", calls.Op(m.p.Stmts[stmt]), fmt.Sprintf(format, args...))
	}
}
