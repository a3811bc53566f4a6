package cost

import (
	"errors"
	"slices"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// A Prediction is how a call of a program is expected to run, where calls follow each other and the
// host waits for none of them.
type Prediction struct {
	Machine *Machine
	// Total is the time of a call: that of the GPUs or, if it is longer, that of the host.
	Total float64
	Host  float64 // what issuing a call takes of the slowest rank's host
	// Critical is the time along the longest chain of calls, each of which waits for the one before,
	// if every call had what it uses to itself. Busiest is how long the most used resource is in use,
	// be it a stream, SMs, memory, a link or the host. No order could make Total less than these.
	// Serial is the time of all calls of all ranks, one after the other.
	Critical, Busiest, Serial float64
	// Calls are those of all ranks, as they were issued.
	Calls []Call
	// Classes says which ranks each rank with calls stands for; nil where all ranks have calls.
	Classes []Class
	// Last is the index of the call that ends last. Its Cause, and so on, is why it ends then.
	Last int
	// Communications has those that a call starts, in the order of the program.
	Communications []Exposure
	// Exposed is the time in which a rank communicates and computes nothing, of the rank with most.
	Exposed float64
}

// A Class is ranks that do the same, of which the first stands for all.
type Class struct {
	Rank  int
	Ranks []int // in ascending order
}

// A Call is one call of the emitted program on one rank.
type Call struct {
	Rank   int    // world rank
	Stream string // "caller", "compute 0", "copies", "communicator, mesh world"
	Name   string // as the emitted program calls it: "Matmul of C_s"
	Kind   Kind
	Pos    diag.Pos
	Stmt   hostir.Stmt
	// Start is when it may start, Begin when it begins to compute or to move data, and End when that
	// is done, in microseconds from the start of the program's call.
	Start, Begin, End float64
	// Cause is the index of the call that it waited for last; -1 for none.
	Cause int
}

// MaxCalls is how many calls of all ranks a prediction is made of at most.
const MaxCalls = 1 << 21

// Predict runs a lowered program on a machine, in thought. Ranks of a node share memory; on several nodes the program's
// fallback variant runs, where it has one. The program is one that Verify accepts. For one with more than MaxCalls calls
// there is no prediction: it is nil.
func Predict(p *hostir.Program, m *Machine) (*Prediction, error) {
	u, err := newUnrolling(m.variant(p), m)
	if err != nil {
		return nil, err
	}
	return u.predict(u.places)
}

// Fold is Predict for one rank of each class that do the same: the calls are those of these ranks, and so are Serial and
// Critical. All times of calls are as Predict has them, and MaxCalls is for these calls alone.
func Fold(p *hostir.Program, m *Machine) (*Prediction, error) {
	p = m.variant(p)
	c, err := classify(p, m)
	if errors.Is(err, errTooMany) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	u, err := newUnrolling(p, m)
	if err != nil {
		return nil, err
	}
	u.classes = c
	result, err := u.predict(c.first)
	if result != nil {
		for class, place := range c.first {
			one := Class{Rank: p.Meshes[0].Ranks[place]}
			for other, of := range c.of {
				if of == int32(class) {
					one.Ranks = append(one.Ranks, p.Meshes[0].Ranks[other])
				}
			}
			result.Classes = append(result.Classes, one)
		}
	}
	return result, err
}

// variant is what of a program runs on a machine.
func (m *Machine) variant(p *hostir.Program) *hostir.Program {
	if p.Fallback != nil && len(p.Meshes) > 0 && m.NodesOf(p.Meshes[0].Size()) > 1 {
		return p.Fallback
	}
	return p
}

// predict issues the program on some ranks, and simulates them.
func (u *unrolling) predict(places []int32) (*Prediction, error) {
	m := u.machine
	err := u.issue(places)
	if errors.Is(err, errTooMany) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := simulate(u, false); err != nil {
		return nil, err
	}
	result := &Prediction{Machine: m, Host: slices.Max(u.hosts), Total: u.lastEnd()}
	if result.Host > result.Total { // then each call waits for the host
		if err := simulate(u, true); err != nil {
			return nil, err
		}
		result.Total = result.Host
	}
	result.bounds(u)
	result.calls(u)
	result.expose()
	return result, nil
}

// Path is the critical path of a call: the calls that the last one waited for, one after the other. Their times add up to
// the time of the call. Calls of a name are together, the longest first. If the host takes longer than the GPUs, the path is
// the host.
func (p *Prediction) Path() []Share {
	if p.Host >= p.Total {
		return []Share{{Name: "the host, which issues the calls", Time: p.Total}}
	}
	times := map[string]float64{}
	if len(p.Calls) > 0 {
		for i := p.Last; i >= 0; i = p.Calls[i].Cause {
			from := 0.0
			if cause := p.Calls[i].Cause; cause >= 0 {
				from = p.Calls[cause].End
			}
			times[p.Calls[i].Name] += p.Calls[i].End - from
		}
	}
	return longestFirst(times)
}

// lastEnd is when the last task ends.
func (u *unrolling) lastEnd() float64 {
	end := 0.0
	for i := range u.tasks {
		end = max(end, u.tasks[i].end)
	}
	return end
}

// calls lists the tasks as calls. A joint, which is none, hands on what caused it.
func (p *Prediction) calls(u *unrolling) {
	index := make([]int, len(u.tasks))
	for i := range u.tasks {
		t := &u.tasks[i]
		index[i] = -1
		if t.stream < 0 || t.stmt == nil {
			continue
		}
		index[i] = len(p.Calls)
		from := &u.streams[t.stream]
		c := Call{
			Rank: u.program.Meshes[0].Ranks[from.rank], Stream: from.name, Name: nameOf(t.stmt), Kind: t.kind,
			Pos: t.stmt.Meta().Pos, Stmt: t.stmt, Start: t.start, Begin: t.begin, End: t.end,
		}
		if t.opens >= 0 {
			c.Start, c.Begin = u.tasks[t.opens].end, u.tasks[t.opens].end
		}
		p.Calls = append(p.Calls, c)
	}
	at := 0
	for i := range u.tasks {
		if index[i] < 0 {
			continue
		}
		if at == 0 || p.Calls[index[i]].End > p.Calls[p.Last].End {
			p.Last = index[i]
		}
		at++
		cause := u.tasks[i].cause
		for cause >= 0 && (index[cause] < 0 || index[cause] == index[i]) {
			cause = u.tasks[cause].cause
		}
		p.Calls[index[i]].Cause = -1
		if cause >= 0 {
			p.Calls[index[i]].Cause = index[cause]
		}
	}
}

// GainError is how far a predicted ratio of the times of two schedules of one program is from the
// measured one, in half of the pairs that were measured: as a share. TestGains holds it against them.
const GainError = 0.025

// Gains reports whether a program is predicted to be faster than another one by more than the model
// may be wrong.
func (p *Prediction) Gains(over *Prediction) bool { return p.Total*(1+GainError) < over.Total }
