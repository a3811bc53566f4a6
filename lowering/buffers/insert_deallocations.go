package buffers

import (
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// InsertDeallocations frees every buffer that the program allocates, after the last
// top-level statement that names it or a view of it, and after the loop of joins where
// that statement is a pipeline which has one. The default, buffers: keep,
// binds buffers to the program's lifetime instead and leaves the program alone.
//
// Requires: pipelines have joined the caller's stream in their work loop or in the
// statement behind it.
// Establishes: with buffers: free, every Temp is freed once, on every path.
//
//	before: T = Allocate; T = Unary(relu, A); C = Unary(exp, T)
//	after:  T = Allocate; T = Unary(relu, A); C = Unary(exp, T); Deallocate(T)
func InsertDeallocations(p *hostir.Program) error {
	if p.Choices.Get(schedule.Buffers) != schedule.Free {
		return nil
	}
	last, freed := lastUses(p.Body)
	body := make([]hostir.Stmt, 0, len(p.Body)+len(last))
	for i, s := range p.Body {
		body = append(body, s)
		for _, t := range last[i] {
			if !freed[t] {
				body = append(body, &hostir.Deallocate{Info: hostir.InfoFrom(s, ""), Tensor: t})
			}
		}
	}
	p.Body = body
	return nil
}

// lastUses gives, for each top-level statement, the Temps that no later one needs,
// in order of their allocation, and those that are freed already.
func lastUses(body []hostir.Stmt) (last map[int][]*hostir.Tensor, freed map[*hostir.Tensor]bool) {
	u := &usage{
		at:      map[*hostir.Tensor]int{},
		carried: map[string][]*hostir.Tensor{}, freed: map[*hostir.Tensor]bool{},
	}
	for i, top := range body {
		for s := range hostir.All([]hostir.Stmt{top}) {
			u.statement(s, i)
		}
	}
	last = map[int][]*hostir.Tensor{}
	for _, t := range u.temps {
		i := u.at[t]
		switch {
		case i+1 < len(body) && isJoinLoop(body[i+1]):
			i++
		case hostir.Any(body[i:i+1], onWorker):
			i = len(body) - 1 // the caller follows the compute streams there, at the latest
		}
		last[i] = append(last[i], t)
	}
	return last, u.freed
}

// usage follows buffers through a program.
type usage struct {
	temps   []*hostir.Tensor
	at      map[*hostir.Tensor]int      // buffer -> the last top-level statement that uses it
	carried map[string][]*hostir.Tensor // handle -> what the communication reads and writes
	grouped []*hostir.Tensor            // what the open group does
	group   bool
	freed   map[*hostir.Tensor]bool
}

// statement notes that the top-level statement i holds s. What a communication reads and
// writes is in use until the Wait for it.
func (u *usage) statement(s hostir.Stmt, i int) {
	mentions := hostir.Mentions(s)
	switch s := s.(type) {
	case *hostir.Allocate:
		if s.Tensor.Role == hostir.Temp {
			u.temps = append(u.temps, s.Tensor)
		}
	case *hostir.Deallocate:
		u.freed[s.Tensor] = true
	case *hostir.StartCoalescing:
		u.group = true
	case *hostir.EndCoalescing:
		u.carried[s.Handle], u.grouped, u.group = u.grouped, nil, false
	case *hostir.Communication, *hostir.P2PCommunication:
		u.carried[hostir.Handle(s)] = mentions
		if u.group {
			u.grouped = append(u.grouped, mentions...)
		}
	case *hostir.Wait:
		mentions = u.carried[s.Handle]
	}
	for _, t := range mentions {
		for _, b := range hostir.Buffers(t) {
			u.at[b] = i
		}
	}
}

// isJoinLoop reports whether s makes the caller's stream wait for the workers and does
// nothing else.
func isJoinLoop(s hostir.Stmt) bool {
	loop, ok := s.(*hostir.For)
	if !ok || len(loop.Body) != 1 {
		return false
	}
	join, ok := loop.Body[0].(*hostir.Synchronize)
	return ok && !join.On.IsWorker() && join.Stream.IsWorker()
}

// onWorker reports whether a statement runs on a worker stream.
func onWorker(s hostir.Stmt) bool { return s.Meta().On.IsWorker() }
