package buffers

import (
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// InsertDeallocations frees every Temp after the last top-level statement that uses it or a view of it, if buffers:
// free is set. If a loop of joins follows that statement, the pass frees the Temp after the loop. Otherwise, if the
// statement runs work on worker streams, the pass frees the Temp at the end of the program. With the default, buffers:
// keep, the pass does nothing.
//
// Requires: the caller's stream joins each pipeline in its loop, in the next statement, or
// by the end of the program.
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

// lastUses returns, by the index of a top-level statement, the Temps to free after this statement, in the order of
// their allocation. freed contains the Temps that the program already frees.
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
			i = len(body) - 1 // the caller's stream has waited for the worker streams by the end of the program
		}
		last[i] = append(last[i], t)
	}
	return last, u.freed
}

// usage collects the last uses of buffers in a program.
type usage struct {
	temps   []*hostir.Tensor
	at      map[*hostir.Tensor]int      // buffer -> index of the last top-level statement that uses it
	carried map[string][]*hostir.Tensor // handle -> tensors that the communication or the group reads and writes
	grouped []*hostir.Tensor            // tensors that the open group reads and writes
	group   bool
	freed   map[*hostir.Tensor]bool
}

// statement records the buffers that s uses. s is the top-level statement at index i, or is nested in it. The buffers
// of a communication are in use until the Wait for the communication.
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

// isJoinLoop reports whether s is a loop that only makes the caller's stream wait for
// worker streams.
func isJoinLoop(s hostir.Stmt) bool {
	loop, ok := s.(*hostir.For)
	if !ok || len(loop.Body) != 1 {
		return false
	}
	join, ok := loop.Body[0].(*hostir.Synchronize)
	return ok && !join.On.IsWorker() && join.Stream.IsWorker()
}

func onWorker(s hostir.Stmt) bool { return s.Meta().On.IsWorker() }
