// Package interp runs a host program on the CPU: all ranks, with every buffer, in one of the orders that its streams, events and
// communications allow. It is the oracle of the passes.
package interp

import (
	"fmt"
	"math"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/tasks"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/eval"
)

// Array is one rank's part of a tensor, row-major over LocalShape.
type Array = eval.Array

// Run runs a program on every rank of its world and returns the outputs of each rank. inputs[r] has an array for every input that
// rank r holds. Values must be exact in the tensor's element type.
//
// Every rank's statements are issued in order and become tasks. A task runs after the earlier tasks of its stream and after the
// streams and communications that Synchronize and Wait name. seed picks one of the orders that this allows. Buffers start as
// NaN. The program is called three times in a row, and the outputs are those of the second call. The first and third calls have
// other values in the inputs. The caller overwrites the inputs after each call, so a missing dependency can show as
// wrong data for some seed. A communication takes place when all of its ranks have reached it. A transfer over CUDA IPC
// takes place when its ready flag is set. If tasks are left and none can run, the error names the waiting ranks and
// statements.
//
// Run interprets the program after any pass. Before the pass that adds Allocate statements, all buffers exist. A statement that
// still needs several ranks is run by all of them together.
func Run(p *hostir.Program, inputs []map[string]*Array, seed uint64) ([]map[string]*Array, error) {
	return RunOn(nil, p, inputs, seed)
}

// RunOn is Run on several nodes. nodes has the node of each rank, in the order of the world; ranks of one node share
// memory. If nodes is nil, all ranks share memory.
func RunOn(nodes []int, p *hostir.Program, inputs []map[string]*Array, seed uint64) ([]map[string]*Array, error) {
	issued, err := Issue(nodes, p, inputs)
	if err != nil {
		return nil, err
	}
	return issued.Run(seed)
}

// Issued is a program that its ranks have issued, with inputs. It can run in several orders.
type Issued struct{ machine *machine }

// Issue does the part of RunOn that does not depend on the seed: it issues three calls on all ranks.
func Issue(nodes []int, p *hostir.Program, inputs []map[string]*Array) (*Issued, error) {
	m, err := newMachine(nodes, p)
	if err != nil {
		return nil, err
	}
	if len(inputs) != len(m.ranks) {
		return nil, fmt.Errorf("program %s runs on %d ranks, and there are inputs for %d", p.Name, len(m.ranks), len(inputs))
	}
	for call := range 3 {
		for r, rank := range m.ranks {
			if err := rank.call(inputs[r], call != 1); err != nil {
				return nil, err
			}
		}
	}
	return &Issued{m}, m.match()
}

// Run runs the tasks in the order that a seed picks, and returns the outputs of each rank. Buffers start as NaN.
func (i *Issued) Run(seed uint64) ([]map[string]*Array, error) {
	outputs := make([]map[string]*Array, len(i.machine.ranks))
	for r, rank := range i.machine.ranks {
		outputs[r] = map[string]*Array{}
		rank.outputs = outputs[r]
	}
	for _, b := range i.machine.buffers {
		b.spoil()
	}
	return outputs, i.machine.run(seed)
}

// newMachine prepares the ranks of a program. If nodes is nil, all ranks are on one node.
func newMachine(nodes []int, p *hostir.Program) (*machine, error) {
	if len(p.Meshes) == 0 {
		return nil, fmt.Errorf("program %s has no mesh to run on", p.Name)
	}
	ranks := p.Meshes[0].Ranks
	if nodes != nil && len(nodes) != len(ranks) {
		return nil, fmt.Errorf("program %s runs on %d ranks, and there are nodes for %d", p.Name, len(ranks), len(nodes))
	}
	m := &machine{
		program: p, nodes: nodes, meetings: map[meetingKey]*meeting{}, allocates: hostir.Allocates(p),
		exchanges: hostir.Exchanges(p), transfers: map[string]*ipcTransfer{}, notes: map[*tasks.Task]*note{},
	}
	for _, number := range ranks {
		m.ranks = append(m.ranks, newRank(m, number))
	}
	return m, nil
}

// machine holds the tasks of all ranks.
type machine struct {
	program       *hostir.Program
	nodes         []int // by rank, in the order of the world; nil: one node
	allocates     bool  // the program has Allocate statements
	ranks         []*rank
	tasks         tasks.Set
	meetings      map[meetingKey]*meeting
	order         []*meeting // in the order in which they were first reached
	exchanges     map[string]*hostir.Exchange
	transfers     map[string]*ipcTransfer
	transferOrder []*ipcTransfer // in the order in which they were first reached
	notes         map[*tasks.Task]*note
	buffers       []*view
}

// match connects the statements of ranks to their peers' statements.
func (m *machine) match() error {
	if err := m.matchMeetings(); err != nil {
		return err
	}
	return m.matchFlags()
}

func (r *rank) stream(name string) *tasks.Stream {
	s := r.streams[name]
	if s == nil {
		s = &tasks.Stream{Name: name}
		r.streams[name] = s
	}
	return s
}

func where(pos diag.Pos) string {
	if !pos.IsValid() {
		return "somewhere"
	}
	return pos.String()
}

var nan = math.NaN()
