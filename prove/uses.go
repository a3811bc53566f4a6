package prove

import (
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/issue"
	"github.com/hirgen/hirgen/prove/unroll"
)

// thing is memory, a set of streams or events, or a communicator of a program.
type thing struct {
	name   string
	memory bool   // allocated and freed; others are made and destroyed
	where  string // its origin: text that begins with a position in the spec, or empty
	local  usage  // uses by ranks that have it
	remote usage  // uses by the peers of those ranks
}

// usage is the last operation that uses a thing, on the first rank that uses it.
type usage struct {
	used            bool
	rank, owner, op int32
}

func (u *usage) note(rank, owner, op int32) {
	if !u.used || u.rank == rank {
		*u = usage{true, rank, owner, op}
	}
}

// things numbers the things of a program: a number is an index in all. Each of the other lists has the number of a thing
// for each memory, stream, communicator, statement (events: the set that it records or waits for) and share of the
// unrolled program. The number is -1 if the thing is the caller's, or if there is none.
type things struct {
	all                                      []*thing
	of                                       map[string]int32
	memories, streams, comms, events, shares []int32
}

// thingsOf lists the things of a program, with their last uses.
func thingsOf(p *unroll.Program) *things {
	t := &things{of: map[string]int32{}}
	c := p.Calls
	labels := calls.ByName(c.Labels)
	text := func(label string) string {
		if d := labels[label]; d != nil {
			return d.Text
		}
		return ""
	}
	for _, d := range c.Buffers {
		if d.In == "" {
			t.add(&thing{name: d.Name, memory: true, where: d.Where})
		}
	}
	t.add(&thing{name: calls.CallersWorkspace, memory: true})
	t.add(&thing{name: calls.ComputeWorkspaces, memory: true})
	for _, d := range c.Shares {
		t.shares = append(t.shares, t.add(&thing{name: calls.FlagsOf(d.Name), memory: true, where: text(d.Label)}))
	}
	for _, d := range c.Teams {
		t.add(&thing{name: d.Name, where: d.Where})
	}
	for _, d := range c.Events {
		t.add(&thing{name: d.Name, where: text(d.Where)})
	}
	t.add(&thing{name: calls.Copies})
	t.add(&thing{name: calls.Compute})
	t.number(p)
	for n := range p.Ranks {
		r := &p.Ranks[n]
		for i := range r.Ops {
			t.operation(p, r, int32(n), int32(i))
		}
	}
	return t
}

func (t *things) add(made *thing) int32 {
	n := int32(len(t.all))
	t.of[made.name] = n
	t.all = append(t.all, made)
	return n
}

// find returns the number of a thing; -1: there is none.
func (t *things) find(name string) int32 {
	if n, ok := t.of[name]; ok {
		return n
	}
	return -1
}

// number fills the lists that map numbers of an unrolled program to things.
func (t *things) number(p *unroll.Program) {
	for i := range p.Memories {
		name := p.Memories[i].Name
		if p.Memories[i].Kind == issue.Workspace {
			name, _, _ = strings.Cut(name, "[")
		}
		t.memories = append(t.memories, t.find(name))
	}
	for i := range p.Shares {
		if counter := p.Shares[i].Counter; counter >= 0 {
			t.memories[counter] = t.shares[i]
		}
	}
	for _, name := range p.Streams {
		name, _, _ = strings.Cut(strings.TrimSuffix(name, ".stream"), "[")
		t.streams = append(t.streams, t.find(name))
	}
	for i := range p.Comms() {
		t.comms = append(t.comms, t.find(p.Comms()[i].Team.Name))
	}
	for _, s := range p.Stmts {
		set := ""
		switch s := s.(type) {
		case *calls.EventRecord:
			set = s.Event.Set
		case *calls.StreamWait:
			set = s.Event.Set
		}
		t.events = append(t.events, t.find(set))
	}
}

// operation records the things that an operation uses.
func (t *things) operation(p *unroll.Program, r *unroll.Rank, rank, op int32) {
	o := &r.Ops[op]
	note := func(n, owner int32) {
		switch {
		case n < 0:
		case owner == rank:
			t.all[n].local.note(rank, owner, op)
		default:
			t.all[n].remote.note(rank, owner, op)
		}
	}
	note(t.streams[o.Stream], rank)
	for _, a := range r.AccessesOf(o) {
		note(t.memories[a.Memory], a.Owner)
	}
	for _, s := range r.SignalsOf(o) {
		for i := range p.Shares {
			if d := &p.Shares[i]; s.Flag >= d.FirstFlag && s.Flag < d.FirstFlag+2*d.Transfers {
				note(t.shares[i], s.Owner)
			}
		}
	}
	for _, part := range r.PartsOf(o) {
		note(t.comms[part.Comm], rank)
	}
	if o.Kind == unroll.Record || o.Kind == unroll.Wait {
		note(t.events[o.Stmt], rank)
	}
}
