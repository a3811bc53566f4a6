package pipeline

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// GroupCommunications makes a group of successive collectives of one type. NCCL runs a group as one launch, with one latency. A group
// has no order, so no member reads or writes a buffer that another member writes. A group starts where its last member was issued, and
// one Wait, where the first Wait was, waits for all members. So statements between the collectives, or between the Waits, no longer
// hide a member. These statements may take no longer than the latencies that the group saves. In-place collectives are not grouped.
//
// Requires: transfers and Waits are at their final positions.
//
//	before: k = Communication(AllToAll, in K, ...); v = Communication(AllToAll, in V, ...); Wait(k); Wait(v)
//
//	after:  StartCoalescing; k = ...; v = ...; k_group = EndCoalescing; Wait(k_group)
func GroupCommunications(p *hostir.Program) error {
	g := &grouping{names: hostir.NewNamer(p), waits: map[string][]awaited{}, gone: map[hostir.Stmt]bool{}}
	hostir.RewriteBlocks(p.Body, func(body []hostir.Stmt) []hostir.Stmt {
		for i, s := range body {
			if w, ok := s.(*hostir.Wait); ok {
				g.waits[w.Handle] = append(g.waits[w.Handle], awaited{w, body, i})
			}
		}
		return body
	})
	p.Body = hostir.RewriteBlocks(p.Body, g.list)
	p.Body = hostir.RewriteBlocks(p.Body, func(body []hostir.Stmt) []hostir.Stmt {
		return slices.DeleteFunc(body, func(s hostir.Stmt) bool { return g.gone[s] })
	})
	return nil
}

// grouping makes the groups of one program.
type grouping struct {
	names *hostir.Namer
	waits map[string][]awaited // by handle
	gone  map[hostir.Stmt]bool // Waits that the Wait for a group replaces
}

// awaited is a Wait with its position.
type awaited struct {
	*hostir.Wait
	body []hostir.Stmt // the statement list that contains it
	at   int           // its index in the list
}

// list makes groups in a list of statements.
func (g *grouping) list(body []hostir.Stmt) []hostir.Stmt {
	for i := 0; i < len(body); i++ {
		if members, end := g.first(body[i:]); len(members) > 1 {
			made := g.group(members, body[i:i+end])
			body = slices.Concat(body[:i], made, body[i+end:])
			i += len(made) - 1
		}
	}
	return body
}

// first returns the collectives at the beginning of a list that can form a group, and the number of statements up to
// the last of them. If it returns fewer than two collectives, there is no group.
func (g *grouping) first(body []hostir.Stmt) (members []*hostir.Communication, end int) {
	late, saved := 0.0, 0.0
	for i, s := range body {
		c, ok := s.(*hostir.Communication)
		if !ok && i > 0 {
			late += alone(s, members[0].On)
			continue
		}
		if !ok || !apart(members, c) {
			break
		}
		if i > 0 {
			saved += machine().CollectiveAlone(c.Type.Row().Form, 0, 0, int(c.TeamSize()))
		}
		if members = append(members, c); late+g.between(members) > saved {
			return members[:len(members)-1], end
		}
		end = i + 1
	}
	return members, end
}

// apart reports whether a collective can join a group with the given members: it runs over NCCL, is no SendRecv, is not in place, and has
// their type, team and stream. In the group that results, no member may read or write a buffer that another member writes.
func apart(members []*hostir.Communication, c *hostir.Communication) bool {
	share := func(a, b *hostir.Tensor) bool {
		return slices.ContainsFunc(hostir.Buffers(a), func(t *hostir.Tensor) bool { return slices.Contains(hostir.Buffers(b), t) })
	}
	return c.Backend == hostir.NCCL && !c.Type.Row().Pairs && !share(c.In, c.Out) &&
		!slices.ContainsFunc(members, func(m *hostir.Communication) bool {
			return m.Mesh != c.Mesh || m.MeshAxis != c.MeshAxis || m.Type != c.Type || !m.On.Is(c.On) ||
				share(m.Out, c.In) || share(m.Out, c.Out) || share(m.In, c.Out)
		})
}

// between returns how long the statements between the Waits for some collectives take, in microseconds. It returns infinity if one
// Wait cannot replace these Waits.
func (g *grouping) between(members []*hostir.Communication) float64 {
	var at []int
	first, sum := g.waits[members[0].Handle], 0.0
	for _, m := range members {
		w := g.waits[m.Handle]
		if len(w) != 1 || w[0].Iteration != nil || &w[0].body[0] != &first[0].body[0] || !w[0].On.Is(first[0].On) {
			return math.Inf(1)
		}
		at = append(at, w[0].at)
	}
	for _, s := range first[0].body[slices.Min(at):slices.Max(at)] {
		if !hostir.Is[*hostir.Wait](s) {
			sum += alone(s, first[0].On)
		}
	}
	return sum
}

// alone returns how long a statement takes on a stream, in microseconds: 0 for an Allocate, and infinity for any other statement that
// does not compute there.
func alone(s hostir.Stmt, on hostir.StreamRef) float64 {
	switch {
	case hostir.Is[*hostir.Allocate](s):
		return 0
	case hostir.Result(s) == nil || hostir.Handle(s) != "" || len(hostir.Bodies(s)) > 0 || !s.Meta().On.Is(on):
		return math.Inf(1)
	}
	return Alone(machine(), s)
}

// group moves the collectives of a list into a group at the end of the list. The first of their Waits then waits for
// the group, and the other Waits are marked for removal (gone).
func (g *grouping) group(members []*hostir.Communication, body []hostir.Stmt) []hostir.Stmt {
	info := hostir.InfoFrom(members[0], "")
	info.On = members[0].On
	out := append(lists.Except(body, hostir.Is[*hostir.Communication]), &hostir.StartCoalescing{Info: info})
	end := &hostir.EndCoalescing{Info: info, Handle: g.names.Fresh(members[0].Handle + "_group")}
	var waits []awaited
	var begins, ends []string
	for i, m := range members {
		w := g.waits[m.Handle][0]
		if i < len(members)-1 && strings.HasPrefix(m.Note, issuedAhead) {
			m.Note = "" // the group issues it later
		}
		out, waits, begins, ends = append(out, m), append(waits, w), append(begins, m.Why), append(ends, w.Why)
		g.gone[w.Wait] = true
	}
	wait := slices.MinFunc(waits, func(a, b awaited) int { return a.at - b.at })
	end.Note = fmt.Sprintf("%d collectives in one launch", len(members))
	end.Why, wait.Why = strings.Join(begins, "; "), strings.Join(ends, "; ")
	wait.Handle, g.gone[wait.Wait] = end.Handle, false
	return append(out, end)
}
