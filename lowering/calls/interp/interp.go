// Package interp runs the calls of a program on every rank, in any order that its streams, events,
// flags and rendezvous allow: what is printed is what was run here.
package interp

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/lowering/calls/align"
	"github.com/hirgen/hirgen/lowering/calls/text"
	"github.com/hirgen/hirgen/lowering/hostir/interp"
	"github.com/hirgen/hirgen/lowering/tasks"
)

// Array is what one rank holds of a tensor.
type Array = interp.Array

// Run runs a program and gives each rank's outputs. inputs[r] has an array for every input that rank
// r holds, by the spec's name. nodes[r] is the node of rank r, whose ranks can share memory; nil: all
// are on one.
//
// Every rank issues its calls in order; they become tasks on streams. A task runs after the tasks
// before it on its stream, after the events that the stream waits for and the flags that it waits
// for, and in no other order: seed picks one. Memory starts as NaN. The program is called three times
// in a row, before and after with other inputs, and the caller spoils the inputs after each call, so
// that an order that is missing shows as wrong data for some seed. Before the first call and behind the last
// one the host of each rank does the steps of the program's life; what is freed is NaN.
func Run(p *calls.Program, nodes []int, inputs []map[string]*Array, seed uint64) ([]map[string]*Array, error) {
	return run(p, nodes, inputs, seed, false)
}

// RunSerialized is Run on GPUs that have one communication under way at a time: what moves data between ranks begins
// where what its rank issued before of that kind has ended. So GPUs without room for two behave, and programs that
// need two at once hang.
func RunSerialized(p *calls.Program, nodes []int, inputs []map[string]*Array, seed uint64) ([]map[string]*Array, error) {
	return run(p, nodes, inputs, seed, true)
}

func run(p *calls.Program, nodes []int, inputs []map[string]*Array, seed uint64, serialized bool) ([]map[string]*Array, error) {
	ranks := p.Ranks()
	if len(inputs) != len(ranks) {
		return nil, fmt.Errorf("program %s runs on %d ranks, and there are inputs for %d", p.Name, len(ranks), len(inputs))
	}
	m := &machine{program: p, serialized: serialized, flags: map[string]*flag{}, meetings: map[string]*meeting{}, shapes: calls.ByName(p.Shapes), needs: align.NeedsOf(p), shares: calls.ByName(p.Shares)}
	for i, number := range ranks {
		r := &rank{
			machine: m, number: number, memory: map[string][]float64{}, streams: map[string]*tasks.Stream{},
			turns: map[string]int{}, begun: map[string]int{}, outputs: map[string]*Array{},
			workspaces: map[string]*tasks.Task{}, host: &tasks.Stream{}, things: map[string]*thing{}, mappings: map[string]*mapping{},
		}
		if nodes != nil {
			r.node = nodes[i]
		}
		r.allocate()
		m.ranks = append(m.ranks, r)
	}
	m.begin()
	for call := range 3 {
		for i, r := range m.ranks {
			if err := r.call(inputs[i], call != 1); err != nil {
				return nil, err
			}
		}
	}
	m.end()
	if err := m.match(); err != nil {
		return nil, err
	}
	all, err := m.tasks.Run(seed)
	if err == nil && !all {
		err = m.deadlock()
	}
	if err != nil {
		return nil, err
	}
	outputs := make([]map[string]*Array, len(m.ranks))
	for i, r := range m.ranks {
		outputs[i] = r.outputs
	}
	return outputs, nil
}

// machine holds the tasks of all ranks, and what orders ranks.
type machine struct {
	program    *calls.Program
	serialized bool // a rank has one communication under way at a time
	shapes     map[string]*calls.Shape
	needs      *align.Needs
	shares     map[string]*calls.Share
	ranks      []*rank
	tasks      tasks.Set
	flags      map[string]*flag
	meetings   map[string]*meeting
	order      []*meeting // as they were first reached
}

// rank finds a rank by its number.
func (m *machine) rank(number int64) *rank {
	i := slices.IndexFunc(m.ranks, func(r *rank) bool { return r.number == number })
	if i < 0 {
		return nil
	}
	return m.ranks[i]
}

// match ties waits to what they are for, and checks that ranks meet in the same calls.
func (m *machine) match() error {
	for _, f := range m.flags {
		f.tie()
	}
	for _, meeting := range m.order {
		if err := meeting.match(); err != nil {
			return err
		}
	}
	return nil
}

// deadlock says what every stuck rank waits for.
func (m *machine) deadlock() error {
	var lines []string
	for _, r := range m.ranks {
		if t := m.tasks.Stuck(int(r.number)); t != nil {
			s, _ := t.What.(calls.Stmt)
			lines = append(lines, fmt.Sprintf("rank %d waits at %s: %s", r.number, s.Meta().Pos, text.Statement(s)))
		}
	}
	return fmt.Errorf("deadlock: nothing can run\n  %s", strings.Join(lines, "\n  "))
}

// A flag is one flag of a rank at one sequence number.
type flag struct {
	write *tasks.Task
	waits []*tasks.Task
}

// tie makes the waits follow the write. A wait for what nobody writes never ends.
func (f *flag) tie() {
	for _, t := range f.waits {
		if f.write == nil {
			t.Block()
			continue
		}
		t.Follow(f.write)
	}
}

var nan = math.NaN()
