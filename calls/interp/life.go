package interp

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/issue"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/internal/base/tasks"
)

// A thing is memory, streams, events or a communicator of a rank. It exists while made is true and gone is false.
type thing struct {
	name string
	rank int64
	made bool
	gone bool
	data [][]float64 // of memory: its contents, which become NaN when the memory is freed
}

// A mapping is the state of a share on a rank: whether the rank has exported its memory, and has opened the memory of its
// peers.
type mapping struct {
	name             string
	exported, opened bool
}

// thing returns the thing of a rank with the given name. It makes an entry on first use.
func (r *rank) thing(name string) *thing {
	t := r.things[name]
	if t == nil {
		t = &thing{name: name, rank: r.number}
		r.things[name] = t
	}
	return t
}

// mapping returns the state of a share on a rank. It makes an entry on first use.
func (r *rank) mapping(share string) *mapping {
	m := r.mappings[share]
	if m == nil {
		m = &mapping{name: share}
		r.mappings[share] = m
	}
	return m
}

// uses records that the current statement uses a thing of a rank. The statement fails if the thing does not exist when
// it runs.
func (r *rank) uses(owner *rank, name string) {
	if r.created == nil {
		return // the program does not list its host steps
	}
	t := owner.thing(r.machine.memoryOf(name))
	r.used = append(r.used, func() error {
		if !t.made || t.gone {
			return fmt.Errorf("%s of rank %d is not there", t.name, t.rank)
		}
		return nil
	})
}

// touches records that the current statement uses memory of a rank. It uses a peer's memory through a share.
func (r *rank) touches(peer *rank, share int32, name string) {
	if peer != r && r.created != nil {
		m := r.mapping(r.machine.program.Shares[share].Name)
		r.used = append(r.used, func() error {
			if !m.opened {
				return fmt.Errorf("rank %d has not imported %s", r.number, m.name)
			}
			return nil
		})
	}
	r.uses(peer, name)
}

// checked returns run, preceded by checks that everything that the current statement uses exists.
func (r *rank) checked(s calls.Stmt, run func() error) func() error {
	used := r.used
	r.used = nil
	if len(used) == 0 {
		return run
	}
	return func() error {
		for _, there := range used {
			if err := there(); err != nil {
				return r.fail(s, "%s", err)
			}
		}
		if run == nil {
			return nil
		}
		return run()
	}
}

// steps issues a list of steps on the hosts of all ranks.
func (m *machine) steps(list []calls.Step) {
	for _, step := range list {
		switch step.Do {
		case calls.Meet:
			m.meet(m.ranks)
		case calls.Exchange:
			m.exchange(m.shares[step.Name])
		default:
			for _, r := range m.ranks {
				r.step(step)
			}
		}
	}
}

// meet makes the hosts of ranks wait for each other.
func (m *machine) meet(ranks []*rank) {
	arrived := make([]*tasks.Task, len(ranks))
	for i, r := range ranks {
		arrived[i] = m.tasks.Issue(int(r.number), nil, r.host, nil)
	}
	for _, r := range ranks {
		m.tasks.Issue(int(r.number), nil, r.host, nil, arrived...)
	}
}

// exchange makes the hosts of the ranks that share memory through d wait for each other.
func (m *machine) exchange(d *calls.Share) {
	if d == nil {
		return
	}
	left := slices.Clone(m.ranks)
	for len(left) > 0 {
		first := left[0]
		both := func(r *rank) bool { return r == first || first.joins(d, r) }
		m.meet(lists.Except(left, func(r *rank) bool { return !both(r) }))
		left = slices.DeleteFunc(left, both)
	}
}

// step issues one step on the host.
func (r *rank) step(step calls.Step) {
	var after []*tasks.Task
	if step.Do == calls.Finish {
		for _, name := range slices.Sorted(maps.Keys(r.streams)) {
			after = append(after, r.streams[name].Last())
		}
	}
	r.machine.tasks.Issue(int(r.number), nil, r.host, func() error {
		if wrong := r.do(step); wrong != "" {
			return fmt.Errorf("rank %d, %s: %s", r.number, step, wrong)
		}
		return nil
	}, after...)
}

// do runs a step. It returns an error message, or an empty string.
func (r *rank) do(step calls.Step) string {
	switch step.Do {
	case calls.Allocate, calls.Make:
		t := r.thing(step.Name)
		if t.made {
			return "it is there"
		}
		t.made, t.gone = true, false
	case calls.Free, calls.Destroy:
		t := r.thing(step.Name)
		if !t.made || t.gone {
			return "it is not there"
		}
		t.gone = true
		for _, data := range t.data {
			spoil(data)
		}
		return r.notYetClosed(step.Name)
	case calls.Export, calls.Import, calls.Close:
		return r.handles(step)
	}
	return ""
}

// notYetClosed returns an error message if a peer has not closed this rank's memory of that name, or an empty string.
func (r *rank) notYetClosed(name string) string {
	for _, d := range r.machine.program.Shares {
		for _, peer := range r.peers(d) {
			if (r.machine.memoryOf(d.Memory) == name || calls.FlagsOf(d.Name) == name) && peer.mapping(d.Name).opened {
				return fmt.Sprintf("rank %d has it open", peer.number)
			}
		}
	}
	return ""
}

// handles runs a step that exports, imports or closes a share. It returns an error message, or an empty string.
func (r *rank) handles(step calls.Step) string {
	d, m := r.machine.shares[step.Name], r.mapping(step.Name)
	if d == nil {
		return "there is no such share"
	}
	switch step.Do {
	case calls.Export:
		for _, name := range []string{r.machine.memoryOf(d.Memory), calls.FlagsOf(d.Name)} {
			if t := r.thing(name); !t.made || t.gone {
				return name + " is not there"
			}
		}
		m.exported = true
	case calls.Import:
		for _, peer := range r.peers(d) {
			if !peer.mapping(step.Name).exported {
				return fmt.Sprintf("rank %d has not exported it", peer.number)
			}
		}
		if m.opened {
			return "it is open"
		}
		m.opened = true
	case calls.Close:
		if !m.opened {
			return "it is not open"
		}
		m.opened = false
	}
	return ""
}

// peers lists the other ranks of a share.
func (r *rank) peers(d *calls.Share) (list []*rank) {
	for _, other := range r.machine.ranks {
		if other != r && r.joins(d, other) {
			list = append(list, other)
		}
	}
	return list
}

// begin issues the steps before the calls, if the program lists its host steps. The caller's memory exists from the
// start. The streams of each rank begin after these steps.
func (m *machine) begin() {
	p := m.program
	if len(p.Life.Create)+len(p.Life.First)+len(p.Life.Destroy) == 0 {
		return
	}
	for _, r := range m.ranks {
		for name := range r.memory {
			t := r.thing(m.memoryOf(name))
			t.data = append(t.data, r.memory[name])
		}
		for _, a := range p.Arguments {
			r.thing(a.Name).made = true
		}
	}
	m.steps(p.Life.Create)
	m.steps(p.Life.First)
	for _, r := range m.ranks {
		r.created = m.tasks.Issue(int(r.number), nil, r.host, nil)
	}
}

// end issues the steps after the calls. If the program lists its host steps, the run fails if something is not freed,
// or if a peer still has the caller's memory open.
func (m *machine) end() {
	m.steps(m.program.Life.Destroy)
	for _, r := range m.ranks {
		if r.created == nil {
			continue
		}
		m.tasks.Issue(int(r.number), nil, r.host, func() error {
			for _, name := range slices.Sorted(maps.Keys(r.things)) {
				if t := r.things[name]; t.made && !t.gone && !r.machine.isCallers(name) {
					return fmt.Errorf("rank %d ends, and %s is there", r.number, name)
				}
			}
			for _, a := range m.program.Arguments {
				if held := r.notYetClosed(a.Name); held != "" {
					return fmt.Errorf("rank %d ends with %s: %s", r.number, a.Name, held)
				}
			}
			return nil
		})
	}
}

func (m *machine) isCallers(name string) bool {
	return slices.ContainsFunc(m.program.Arguments, func(a *calls.Argument) bool { return a.Name == name })
}

// memoryOf returns the name of the memory of a buffer: the buffer or output that contains it, or its own name.
func (m *machine) memoryOf(name string) string {
	for _, d := range m.program.Buffers {
		if d.Name == name && d.In != "" {
			return d.In
		}
	}
	return name
}

// joins reports whether this rank and another share memory through a share. Both must be on one node.
func (r *rank) joins(d *calls.Share, other *rank) bool {
	return r.machine.world.Share(d, int32(r.number), int32(other.number))
}

// onStream records that the current statement runs on a stream.
func (r *rank) onStream(number int16) {
	switch w := r.machine.world; {
	case number == issue.Caller:
	case w.IsCompute(number):
		r.uses(r, calls.Compute)
	default:
		r.uses(r, strings.TrimSuffix(w.Streams[number], ".stream")) // the copy stream, or a team's stream, which exists as long as the team
	}
}
