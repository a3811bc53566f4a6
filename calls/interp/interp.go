// Package interp runs the calls of a program on every rank, in any order that its streams, events, flags and rendezvous
// allow. hirgen prints the same calls as CUDA C++.
package interp

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/calls/issue"
	"github.com/hirgen/hirgen/calls/text"
	"github.com/hirgen/hirgen/internal/base/tasks"
	"github.com/hirgen/hirgen/model/eval"
)

// Array is one rank's part of a tensor.
type Array = eval.Array

// Run runs a program and returns the outputs of each rank, by their names in the spec. inputs[r] has an array for every
// input of rank r, by its name in the spec. nodes[r] is the node of rank r; if nodes is nil, all ranks are on one node.
// Only ranks of one node can share memory.
//
// Every rank issues its calls in order; they become tasks on streams. A task runs after the earlier tasks of its
// stream, and after the events, flags and NCCL peers that it waits for. There is no other order, and seed picks one of
// the allowed orders. Memory starts as NaN. The program is called three times in a row. Run returns the outputs of the
// second call; the first and third calls have other inputs. The caller overwrites the inputs after each call, so a
// missing wait shows as wrong data for some seed. The host of each rank also runs the steps of the program's life
// (calls.Life), before the first call and after the last. Freed memory becomes NaN. It is an error if a statement
// fails, or if ranks deadlock or make different NCCL calls.
func Run(p *calls.Program, nodes []int, inputs []map[string]*Array, seed uint64) ([]map[string]*Array, error) {
	return run(p, nodes, inputs, seed, false)
}

// RunSerialized is Run on GPUs that run their communications one after the other, in the order of issue: on each rank, a
// communication begins when the previous one has ended. GPUs without resources for two communications behave like that.
// A program that needs two at the same time deadlocks, which is an error.
func RunSerialized(p *calls.Program, nodes []int, inputs []map[string]*Array, seed uint64) ([]map[string]*Array, error) {
	return run(p, nodes, inputs, seed, true)
}

func run(p *calls.Program, nodes []int, inputs []map[string]*Array, seed uint64, serialized bool) ([]map[string]*Array, error) {
	ranks := p.Ranks()
	if len(inputs) != len(ranks) {
		return nil, fmt.Errorf("program %s runs on %d ranks, and there are inputs for %d", p.Name, len(ranks), len(inputs))
	}
	m := &machine{program: p, serialized: serialized, world: issue.New(p, nodes),
		flags: map[issue.Signal]*flag{}, meetings: map[turn]*meeting{},
		shapes: calls.ByName(p.Shapes), effects: effects.New(p), shares: calls.ByName(p.Shares)}
	for i, number := range ranks {
		r := &rank{
			machine: m, number: number, memory: map[string][]float64{}, streams: map[int16]*tasks.Stream{},
			turns: map[pairing]int{}, outputs: map[string]*Array{}, workspaces: map[int32]*tasks.Task{},
			host: &tasks.Stream{}, things: map[string]*thing{}, mappings: map[string]*mapping{},
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

// machine holds the tasks of all ranks, and the flags and meetings by which ranks wait for each other.
type machine struct {
	program    *calls.Program
	serialized bool // each rank runs its communications one after the other
	shapes     map[string]*calls.Shape
	effects    *effects.Table
	shares     map[string]*calls.Share
	ranks      []*rank
	tasks      tasks.Set
	world      *issue.World
	flags      map[issue.Signal]*flag
	meetings   map[turn]*meeting
	order      []*meeting // the meetings, in the order in which a rank first issued a part of each
}

// rank returns the rank with a number, or nil if there is none.
func (m *machine) rank(number int64) *rank {
	i := slices.IndexFunc(m.ranks, func(r *rank) bool { return r.number == number })
	if i < 0 {
		return nil
	}
	return m.ranks[i]
}

// match makes waits for flags follow the writes of these flags, and checks all meetings. It is an error if ranks meet
// in different NCCL calls.
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

// deadlock returns an error that names the statement at which each stuck rank waits.
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

// A flag is a flag in a rank's memory at one sequence number: the task that writes it, and the tasks that wait for it.
type flag struct {
	write *tasks.Task
	waits []*tasks.Task
}

// tie orders the waits after the write. If nothing writes the flag, the waits never end.
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
