package lowering

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// waits decides which waits of a list go after the loop: those that nothing after them needs,
// in this list or in the lists around it. One for an earlier iteration stands where it is needed.
func (m *motion) waits(body []hostir.Stmt, after []hostir.Stmt) {
	for i, s := range body {
		rest := append(slices.Clone(body[i+1:]), after...)
		m.each(s, func(inner []hostir.Stmt) { m.waits(inner, rest) })
		wait, ok := s.(*hostir.Wait)
		if !ok || wait.Iteration != nil || m.needed(wait.Handle, rest) {
			continue
		}
		m.ways[s] = lateCopier
		if e := m.exchanges[wait.Handle]; e != nil && e.Owner().Handle == wait.Handle {
			m.ways[s] = lateOwner
			if root(m.base, e.Owner().Buffer).Role == hostir.Input {
				m.ways[s] = atTheEnd
			}
		}
	}
}

// needed reports whether a wait has to stay: its transfer was started elsewhere, the next
// iteration passes on what it brought, or statements after the wait use that or write what
// was sent. In other iterations that is another slice, or nothing writes it.
func (m *motion) needed(handle string, rest []hostir.Stmt) bool {
	sent, filled := m.sent[handle], m.filled[handle]
	if len(sent)+len(filled) == 0 || !m.apart(sent) || !m.apart(filled) {
		return true
	}
	from, into := m.buffers(sent), m.buffers(filled)
	for b := range into {
		if m.scopes[0].passed[b] {
			return true
		}
	}
	return hostir.Any(rest, func(s hostir.Stmt) bool {
		return m.among(hostir.Mentions(s), into) || !m.makes[s] && m.among(hostir.Defs(s), from)
	})
}

// apart reports whether tensors that a loop around the wait writes are other slices in each of
// its iterations.
func (m *motion) apart(tensors []*hostir.Tensor) bool {
	return !slices.ContainsFunc(tensors, func(t *hostir.Tensor) bool {
		b := root(m.base, t)
		return slices.ContainsFunc(m.scopes, func(in *scope) bool {
			return (in.computed[b] || in.received[b]) && !m.sliced(t, in)
		})
	})
}

// buffers is the set of what lies behind tensors.
func (m *motion) buffers(tensors []*hostir.Tensor) map[*hostir.Tensor]bool {
	set := map[*hostir.Tensor]bool{}
	for _, t := range tensors {
		set[root(m.base, t)] = true
	}
	return set
}

// among reports whether one of the buffers lies behind one of the tensors.
func (m *motion) among(tensors []*hostir.Tensor, buffers map[*hostir.Tensor]bool) bool {
	return slices.ContainsFunc(tensors, func(t *hostir.Tensor) bool { return buffers[root(m.base, t)] })
}
