package lowering

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// IssueTransfers takes the transfers of a pipeline out of its work loop, as transfers: ahead
// asks for. What does not depend on the work is issued in loops before it: copies between
// shared memories on the copy stream, one after the other, the others on their team's
// stream. So the copies are limited by the links alone, and one worker stream is enough to
// hide them. Waits move the other way: one that nothing in the iteration needs, such as the
// one for the peer to have read the own slice, goes to a loop after the joins.
//
// Requires: every communication has a backend; forks and joins stand where the schedule
// wants them.
// Establishes: with transfers: ahead, the work loop of a pipeline starts only transfers of
// what it computes; of pipelines in a loop over pieces, what may leave that loop has left it.
//
//	before: For s: If s == 0: ... Else: (lend A, receive A_all_s, Wait(send), Wait(receive)); C_s = Matmul(A_s, B)
//	after:  SetCurrentStream(copies); Synchronize(caller); For s in 1..D: (lend A)
//	        For s in 1..D: (receive A_all_s)
//	        SetCurrentStream(caller); For s: If s == 0: ... Else: Wait(receive); C_s = Matmul(A_s, B)
//	        For s in 1..D: Wait(send)
func IssueTransfers(p *hostir.Program) error {
	if p.Choices.Transfers != "ahead" {
		return nil
	}
	m := newMotion(p)
	p.Body = m.issue(p.Body, hostir.StreamRef{Var: m.caller}, p.Choices.Pieces > 0)
	return nil
}

// issue moves transfers and waits out of the work loops of a list, which begins on the stream
// given. A loop over pieces holds work loops of its own: what cannot leave the outer one may leave
// the inner one.
func (m *motion) issue(list []hostir.Stmt, current hostir.StreamRef, pieces bool) []hostir.Stmt {
	var end []hostir.Stmt
	body := make([]hostir.Stmt, 0, len(list)+8)
	for i := 0; i < len(list); i++ {
		if set, ok := list[i].(*hostir.SetCurrentStream); ok {
			current = set.Stream
		}
		loop, ok := list[i].(*hostir.For)
		alreadyThere := current.Var == hostir.CopyStream // what moves is where it belongs
		if !ok || !m.works(loop) && (alreadyThere || !movesData(loop)) {
			body = append(body, list[i])
			continue
		}
		ahead, late, last := m.split(loop, current)
		if pieces {
			loop.Body = m.issue(loop.Body, current, false)
		}
		end = append(end, last...)
		at := len(body)
		if at > 0 && forkOf(body[at-1], loop) != nil {
			at--
		}
		pipeline := append(slices.Clone(body[at:]), loop)
		if i+1 < len(list) && isJoinLoop(list[i+1]) {
			i++
			pipeline = append(pipeline, list[i])
		}
		if !hostir.Any(loop.Body, isWork) {
			pipeline = nil // transfers were all that it had
			if slices.IndexFunc(ahead, setsStream) == 0 {
				ahead[0].Meta().Note = "transfers have a stream of their own"
			}
		}
		if worker, ok := handsOver(list[i+1:]); ok {
			late = append(list[i+1:i+3:i+3], late...)
			i, current = i+2, worker
		}
		body = slices.Concat(body[:at], ahead, pipeline, late)
	}
	return usedStreams(append(body, end...))
}

// handsOver gives the worker stream that the first two statements of a list let the work go on on:
// waits for what is needed there are better there, too.
func handsOver(list []hostir.Stmt) (worker hostir.StreamRef, ok bool) {
	if len(list) < 2 {
		return worker, false
	}
	set, sets := list[0].(*hostir.SetCurrentStream)
	_, follows := list[1].(*hostir.Synchronize)
	if !sets || !follows || set.Stream.Index == nil {
		return worker, false
	}
	return set.Stream, true
}

// usedStreams leaves out each stream that is current for no statement of a list.
func usedStreams(list []hostir.Stmt) []hostir.Stmt {
	out := make([]hostir.Stmt, 0, len(list))
	for _, s := range list {
		if _, sets := s.(*hostir.SetCurrentStream); sets && len(out) > 0 {
			if _, unused := out[len(out)-1].(*hostir.SetCurrentStream); unused {
				out = out[:len(out)-1]
			}
		}
		out = append(out, s)
	}
	return out
}

// isWork reports whether a statement does more than name memory, order streams and hold others.
func isWork(s hostir.Stmt) bool {
	switch s.(type) {
	case *hostir.For, *hostir.If, *hostir.Select, *hostir.SetCurrentStream, *hostir.Synchronize:
		return false
	default:
		return true
	}
}

// split takes out of a loop what goes before it, what goes after it, and what goes to the end
// of the program.
func (m *motion) split(loop *hostir.For, current hostir.StreamRef) (ahead, late, last []hostir.Stmt) {
	m.examine(loop)
	lends := m.take(loop, lend)
	copies := m.take(loop, copyAhead)
	others := m.take(loop, teamAhead)
	sent := m.take(loop, lateCopier)
	filled := m.take(loop, lateOwner)
	read := m.take(loop, atTheEnd)
	m.tidy(loop)
	if lends != nil || copies != nil {
		ahead = m.onCopyStream(loop, lends, copies, current)
	}
	ahead = appendLoop(ahead, others, "transfers of what is there already are issued before the work")
	late = appendLoop(late, sent, "")
	late = appendLoop(late, filled, "")
	return ahead, late, appendLoop(nil, read, "when the call is over, the caller may change what it lent")
}

// onCopyStream makes the copy stream follow the current one and issues there what is lent, then
// what is copied: a rank lends before it waits for what others lend.
func (m *motion) onCopyStream(loop *hostir.For, lends, copies *hostir.For, current hostir.StreamRef) []hostir.Stmt {
	why := "transfers of what is there already are issued before the work, on a stream of their own"
	list := []hostir.Stmt{
		&hostir.SetCurrentStream{Info: hostir.InfoFrom(loop, why), Stream: hostir.StreamRef{Var: hostir.CopyStream}},
		&hostir.Synchronize{Info: hostir.InfoFrom(loop, ""), Stream: current},
	}
	list = appendLoop(list, lends, "")
	list = appendLoop(list, copies, "")
	return append(list, &hostir.SetCurrentStream{Info: hostir.InfoFrom(loop, ""), Stream: current})
}

// appendLoop appends a loop, if there is one.
func appendLoop(list []hostir.Stmt, loop *hostir.For, note string) []hostir.Stmt {
	if loop == nil {
		return list
	}
	loop.Note = note
	return append(list, loop)
}
