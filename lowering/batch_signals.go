package lowering

import (
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// BatchSignals makes a group of neighbours that signal or wait for signals of transfers
// between shared memories, as signals: batched asks for, and of neighbours that copy, as
// copy: fused does. A group is one operation of its stream, where each costs microseconds.
// Neighbours are statements of one list; a loop of nothing else counts as one.
//
// Requires: transfers and waits stand where they are to stay.
// Establishes: no two neighbours could share an operation that the schedule allows.
//
//	before: For s in 1..D: (lend A)
//	after:  StartCoalescing; For s in 1..D: (lend A); lends = EndCoalescing
func BatchSignals(p *hostir.Program) error {
	b := &signalBatcher{
		program: p, exchanges: hostir.Exchanges(p), names: hostir.NewNamer(p),
		groups: map[hostir.SignalKind]string{hostir.Lends: "lends", hostir.Returns: "returns", hostir.Copies: "transfers"},
	}
	if p.Choices.Any(schedule.Signals, schedule.Batched) || p.Choices.Any(schedule.Copy, schedule.Fused) {
		p.Body = b.block(p.Body)
	}
	return nil
}

type signalBatcher struct {
	program   *hostir.Program
	exchanges map[string]*hostir.Exchange
	names     *hostir.Namer
	groups    map[hostir.SignalKind]string // what to call a group of a kind
}

// kind is what a statement does for transfers, if the schedule lets all of them share an operation.
func (b *signalBatcher) kind(s hostir.Stmt) hostir.SignalKind {
	kind := hostir.SignalKindOf(s, b.exchanges)
	if _, one := hostir.StreamOf(s); !one {
		return hostir.NoSignals
	}
	field, value := schedule.Signals, schedule.Batched
	if kind == hostir.Copies {
		field, value = schedule.Copy, schedule.Fused
	}
	if kind != hostir.NoSignals && hostir.Any([]hostir.Stmt{s}, func(s hostir.Stmt) bool {
		of, moves := b.moves(s)
		return moves && b.program.Choices.Of(of, field) != value
	}) {
		return hostir.NoSignals
	}
	return kind
}

// moves gives the communication that a statement starts, or waits for, a transfer of.
func (b *signalBatcher) moves(s hostir.Stmt) (of string, ok bool) {
	if wait, waits := s.(*hostir.Wait); waits && b.exchanges[wait.Handle] != nil {
		return b.exchanges[wait.Handle].Send.Of, true
	}
	_, ok = s.(*hostir.P2PCommunication)
	return hostir.CommunicationOf(s), ok
}

// block groups the neighbours of a list, and else looks inside its statements.
func (b *signalBatcher) block(body []hostir.Stmt) []hostir.Stmt {
	out := make([]hostir.Stmt, 0, len(body)+2)
	for len(body) > 0 {
		n, kind := b.neighbours(body)
		run := body[:n]
		body = body[n:]
		if name := b.groups[kind]; name != "" && (n > 1 || isLoop(run[0])) {
			info := hostir.InfoFrom(run[0], "")
			info.On, _ = hostir.StreamOf(run[0])
			out = append(out, &hostir.StartCoalescing{Info: info})
			out = append(out, run...)
			out = append(out, &hostir.EndCoalescing{Info: info, Handle: b.names.Fresh(name)})
			continue
		}
		if _, reads := run[0].(*hostir.SumLoans); n == 1 && !reads { // several are of one kind, as is all in them
			for _, inner := range hostir.Bodies(run[0]) {
				*inner = b.block(*inner)
			}
		}
		out = append(out, run...)
	}
	return out
}

// neighbours counts the statements of one kind, on one stream, that a list starts with. A group that stands
// is one of no kind.
func (b *signalBatcher) neighbours(body []hostir.Stmt) (int, hostir.SignalKind) {
	if _, ok := body[0].(*hostir.StartCoalescing); ok {
		members, _ := hostir.Group(body[1:])
		return len(members) + 2, hostir.NoSignals
	}
	kind, n := b.kind(body[0]), 1
	on, _ := hostir.StreamOf(body[0])
	for kind != hostir.NoSignals && n < len(body) && b.kind(body[n]) == kind {
		if other, _ := hostir.StreamOf(body[n]); !other.Is(on) {
			break
		}
		n++
	}
	return n, kind
}

func isLoop(s hostir.Stmt) bool {
	_, ok := s.(*hostir.For)
	return ok
}
