package emit

import (
	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// startGroup opens a group. Its team and its handle are those of what follows.
func (b *builder) startGroup(s *hostir.StartCoalescing, rest []hostir.Stmt) ([]node, error) {
	if b.group != nil {
		return nil, internalError(s.Pos, s.Op(), "a group is open already")
	}
	members, end := hostir.Group(rest)
	if kind := hostir.SignalKindOfAll(members, b.pairs); kind != hostir.NoSignals && end != nil {
		return b.startSignals(s, kind, members, end), nil
	}
	src := b.source(s)
	for _, next := range rest {
		switch next := next.(type) {
		case *hostir.Communication:
			return b.openGroup(src, b.teamOf(next), rest)
		case *hostir.P2PCommunication:
			return b.openGroup(src, b.world(next.Pos), rest)
		}
	}
	return nil, internalError(s.Pos, s.Op(), "the group is empty")
}

// openGroup finds the end of the group, which names it, and hands over the stream.
func (b *builder) openGroup(src source, team string, rest []hostir.Stmt) ([]node, error) {
	for _, next := range rest {
		end, ok := next.(*hostir.EndCoalescing)
		if !ok {
			continue
		}
		src.Where = b.label(end.Handle, at(end.Pos, end.Handle+": group"))
		t, handOver := b.begin(src, team, end.Handle, team+".stream")
		b.group = t
		return []node{handOver, &groupNode{source{Where: src.Where}}}, nil
	}
	return nil, internalError(diag.Pos{}, "StartCoalescing", "the group has no end in its list of statements")
}

// endGroup closes the group.
func (b *builder) endGroup(s *hostir.EndCoalescing) ([]node, error) {
	if b.signals != nil {
		return b.endSignals(), nil
	}
	if b.group == nil {
		return nil, internalError(s.Pos, s.Op(), "no group is open")
	}
	src := b.located(s, s.Handle, s.Handle+": group")
	t := b.group
	b.group = nil
	return []node{&groupEndNode{src}, b.end(src, t, s.Handle)}, nil
}

// sameTeam reports a group over several communicators, whose parts one event cannot
// stand for.
func (b *builder) sameTeam(pos diag.Pos, team string) error {
	if b.group.team == team {
		return nil
	}
	return errorAt(pos, "the communications of one group must be along one mesh axis")
}
