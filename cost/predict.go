package cost

import (
	"errors"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/diag"
)

// A Prediction is the expected timeline of one call of a program, if the host issues calls one after the other and
// never waits for the GPUs. Times are in microseconds.
type Prediction struct {
	Machine *Machine
	// Total is the time of a call: the time on the GPUs or, if it is longer, the time on the host.
	Total float64
	Host  float64 // time to issue a call, on the slowest rank's host
	GPUs  float64 // time on the GPUs
	// Critical is the time along the longest chain of calls, each of which waits for the previous one, if no call had
	// to share resources. Busiest is how long the most used resource is in use: a stream, SMs, memory, links, the network
	// or the host. No order could make Total less than these. Serial is the time of all calls of all ranks, one after the
	// other, after the host has issued them.
	Critical, Busiest, Serial float64
	// Calls are the calls of all ranks, or of one rank of each class, rank by rank in the order of issue.
	Calls []Call
	// Classes are the classes of ranks if Fold made the prediction, and otherwise nil. One rank of each class has calls.
	Classes []Class
	// Last is the index of the call that ends last. Follow Cause from there for the critical path.
	Last int
	// Communications are the communications that a call starts, rank by rank in the order of issue, each statement once.
	Communications []Exposure
	// Exposed is the time in which a rank communicates and does not compute, on the rank where it is longest.
	Exposed float64
	sizes   map[*calls.Gemm]GEMMSize
}

// A Class is a set of ranks that make the same calls at the same times. Rank, the first of Ranks, stands for all of
// them.
type Class struct {
	Rank  int
	Ranks []int // in ascending order
}

// A Call is one call of the emitted program on one rank, or part of one: the begin of a call of NCCL, or a statement of a RowExchange.
type Call struct {
	Rank   int    // world rank
	Stream string // "caller", "compute 0", "copies", "communicator, mesh world"
	Name   string // as in the emitted program: "Matmul of C_s"
	Kind   Kind
	Pos    diag.Pos
	Stmt   calls.Stmt
	// Start is when the earlier calls on its stream and the calls that it waits for are done; if Host is more than GPUs, the host has also
	// issued the call. Begin is when it begins to compute or to move data, and End when that is done. They are in microseconds from the
	// start of the program's call.
	Start, Begin, End float64
	Moved             float64 // bytes that it sends or receives, whichever are more; a collective sends as many as in a ring
	// Cause is the index of the last call that it waited for; -1 for none.
	Cause int
}

// MaxCalls limits the calls of all ranks in a prediction.
const MaxCalls = 1 << 21

// Predict simulates a program on a machine. Ranks of a node share memory. variants are the program and, if it has one, its fallback
// variant, which runs on several nodes. calls/verify must accept the program. Predict returns nil, without an error, for a program with
// more than MaxCalls calls.
func Predict(variants []*calls.Program, m *Machine) (*Prediction, error) {
	u := newUnrolling(m.variant(variants), m)
	return u.predict(u.places)
}

// Estimate is Predict, but of the results it sets only Machine, Host, GPUs and Total. If the host or the busiest
// stream of the first rank takes longer than limit, in microseconds, it stops. Then it sets only Machine and Total, to
// that time.
func Estimate(variants []*calls.Program, m *Machine, limit float64) (*Prediction, error) {
	u := newUnrolling(m.variant(variants), m)
	u.limit = limit
	return u.estimate(u.places)
}

// Fold is Predict with one rank of each class of ranks that do the same. Calls, Serial, Critical and Busiest
// only cover these ranks, and MaxCalls limits only their calls. All times of calls are the same as with Predict.
func Fold(variants []*calls.Program, m *Machine) (*Prediction, error) {
	p := m.variant(variants)
	c, err := classify(p, m)
	if errors.Is(err, errTooMany) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	u := newUnrolling(p, m)
	u.classes = c
	result, err := u.predict(c.first)
	if result != nil {
		for class, place := range c.first {
			one := Class{Rank: int(u.numbers[place])}
			for other, of := range c.of {
				if of == int32(class) {
					one.Ranks = append(one.Ranks, int(u.numbers[other]))
				}
			}
			result.Classes = append(result.Classes, one)
		}
	}
	return result, err
}

// variant returns the variant of a program that runs on a machine: on several nodes the last one.
func (m *Machine) variant(list []*calls.Program) *calls.Program {
	if m.NodesOf(len(list[0].Ranks())) > 1 {
		return list[len(list)-1]
	}
	return list[0]
}

// predict predicts the calls of the ranks at some places.
func (u *unrolling) predict(places []int32) (*Prediction, error) {
	result, err := u.estimate(places)
	if result != nil {
		result.bounds(u)
		result.calls(u)
		result.expose()
	}
	return result, err
}

// estimate issues the program on the ranks at some places, and simulates them. It returns nil, without an error, if
// there are too many calls. If the first rank takes longer than the limit, it simulates nothing and sets only Machine
// and Total.
func (u *unrolling) estimate(places []int32) (*Prediction, error) {
	err := u.issue(places)
	switch {
	case errors.Is(err, errTooMany):
		return nil, nil
	case errors.Is(err, errTooSlow):
		return &Prediction{Machine: u.machine, Total: u.least(u.hosts[0])}, nil
	}
	if err != nil {
		return nil, err
	}
	if err := simulate(u, false); err != nil {
		return nil, err
	}
	result := &Prediction{Machine: u.machine, Host: slices.Max(u.hosts), Total: u.lastEnd(), sizes: u.sizes}
	result.GPUs = result.Total
	if result.Host > result.Total { // then each call waits for the host
		if err := simulate(u, true); err != nil {
			return nil, err
		}
		result.Total = result.Host
	}
	return result, nil
}

// Path is the critical path of a call: the calls that the last one waited for, one after the other. Their times add up to the time
// of the call. Path adds up calls with the same name, and lists the longest first. If the host takes longer than the GPUs, the path
// is the host.
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

// lastEnd returns when the last task ends.
func (u *unrolling) lastEnd() float64 {
	end := 0.0
	for i := range u.tasks {
		end = max(end, u.tasks[i].end)
	}
	return end
}

// calls lists the tasks as calls, except the start of the program and joints. Where the cause of a call would be a
// joint, it is the cause of the joint instead.
func (p *Prediction) calls(u *unrolling) {
	index := make([]int, len(u.tasks))
	p.Calls = make([]Call, 0, len(u.tasks))
	for i := range u.tasks {
		t := &u.tasks[i]
		index[i] = -1
		if t.stream < 0 || t.stmt == nil {
			continue
		}
		index[i] = len(p.Calls)
		from := &u.streams[t.stream]
		c := Call{
			Rank: int(u.numbers[from.rank]), Stream: from.name, Name: u.nameOf(t.stmt), Kind: t.kind,
			Pos: t.stmt.Meta().Pos, Stmt: t.stmt, Start: t.start, Begin: t.begin, End: t.end, Moved: t.moved,
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
