package fromhost

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// startGroup lowers a group up to its end. The group has the team of its first communication. For point-to-point
// transfers, this is the world.
func (b *builder) startGroup(s *hostir.StartCoalescing, rest []hostir.Stmt) []calls.Stmt {
	if b.group != nil {
		refuse(internalError(s, "a group is open already"))
	}
	members, end := hostir.Group(rest)
	if end == nil {
		refuse(internalError(s, "the group has no end in its list of statements"))
	}
	defer func(inside string) { b.inside, b.skip = inside, len(members)+1 }(b.inside)
	b.inside = b.guard
	for _, next := range members {
		switch next := next.(type) {
		case *hostir.Communication:
			return b.grouped(members, b.teamOf(next), end)
		case *hostir.P2PCommunication:
			return b.grouped(members, b.world(next.Pos), end)
		}
	}
	panic(refusal{internalError(s, "the group is empty")})
}

// grouped lowers the communications of a group, which run at the same time.
func (b *builder) grouped(members []hostir.Stmt, team string, end *hostir.EndCoalescing) []calls.Stmt {
	does, waits := b.groupWording(members)
	b.waits[end.Handle] = waits
	info := b.says(end, does)
	t, list := b.begin(info, team, end.Handle, calls.Stream{Name: team, Team: true})
	b.group = t
	body := b.items(members)
	b.group = nil
	declared, body := withoutNames(body)
	list = append(list, &calls.NcclGroup{Info: info, Team: team, On: t.on, Body: body}, b.end(info, t, end.Handle))
	return append(declared, list...)
}

// withoutNames separates the declarations of pointers from the other statements of a group or a sum, because statements
// after it use the pointers, too.
func withoutNames(body []calls.Stmt) (declared, rest []calls.Stmt) {
	for _, s := range body {
		if calls.Is[*calls.Declare](s) {
			declared = append(declared, s)
		} else {
			rest = append(rest, s)
		}
	}
	return declared, rest
}

// sameTeam returns an error if a member of the open group has another team than the group, because the group runs on
// the stream of one team.
func (b *builder) sameTeam(pos diag.Pos, team string) error {
	if b.group.team == team {
		return nil
	}
	return errorAt(pos, "the communications of one group must be along one mesh axis")
}
