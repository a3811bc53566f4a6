package issue

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/collective"
)

// Part is the contribution of a rank to one NCCL call. Parts are matched in the order of issue: collectives by their
// Comm; sends and receives by Comm, sender and receiver.
type Part struct {
	Kind   PartKind
	Comm   int32
	Peer   int32 // world rank, of Send and Recv; otherwise -1
	Root   int32 // index within the team; -1: there is none
	Count  int64 // Count of the call, in elements
	Sent   int64 // elements that this rank reads from In of the call; -1: none
	Stored int64 // elements that this rank writes to Out; -1: none
}

// PartKind distinguishes parts.
type PartKind uint8

// The kinds of parts.
const (
	Collective PartKind = iota
	Send
	Recv
)

// Parts lists the parts of this rank in a call. It is nil after a fault, and for a send_recv without a part for this
// rank.
func (r *Rank) Parts(s *calls.NcclCall) []Part {
	of, ok := r.communicators()[s.Team]
	if !ok {
		r.fault(s, BadName, "no team is called %s", s.Team)
		return nil
	}
	p := Part{Comm: of[r.Number], Root: -1, Peer: -1, Sent: -1, Stored: -1}
	if p.Comm < 0 {
		r.fault(s, Unreached, "the rank is not in team %s", s.Team)
		return nil
	}
	if p.Count, ok = r.Value(s, s.Count); !ok {
		return nil
	}
	switch s.Kind {
	case "send", "recv":
		return r.pointToPoint(s, p)
	case "send_recv":
		return r.counterparts(s, p)
	default:
		return r.collective(s, p)
	}
}

func (r *Rank) collective(s *calls.NcclCall, p Part) []Part {
	form := collective.Of(s.Kind)
	if form == nil {
		r.fault(s, BadName, "%s has no %q", r.comms[p.Comm].Team.Library(), s.Kind)
		return nil
	}
	ranks := r.comms[p.Comm].Ranks
	if s.Root != nil {
		root, ok := r.Value(s, s.Root)
		if !ok || root < 0 || root >= int64(len(ranks)) {
			r.fault(s, BadValue, "there is no root %d among %d ranks", root, len(ranks))
			return nil
		}
		p.Root = int32(root)
	}
	rooted := p.Root >= 0 && ranks[p.Root] == r.Number
	sends, receives := form.Sides(rooted)
	sent, received := form.Slices(int64(len(ranks)))
	if receives && (!s.InPlace || !rooted) {
		p.Stored = received * p.Count
	}
	if sends {
		p.Sent = sent * p.Count
	}
	return []Part{p}
}

func (r *Rank) pointToPoint(s *calls.NcclCall, p Part) []Part {
	peer, ok := r.Value(s, s.Peer)
	if !ok {
		return nil
	}
	if !slices.Contains(r.comms[p.Comm].Ranks, int32(peer)) {
		r.fault(s, BadValue, "there is no rank %d in team %s", peer, s.Team)
		return nil
	}
	if s.Kind == "send" {
		return []Part{p.to(peer)}
	}
	return []Part{p.from(peer)}
}

func (p Part) to(peer int64) Part {
	p.Kind, p.Peer, p.Sent = Send, int32(peer), p.Count
	return p
}

func (p Part) from(peer int64) Part {
	p.Kind, p.Peer, p.Stored = Recv, int32(peer), p.Count
	return p
}

// counterparts lists a send if the rank is in mesh From, and a receive if it is in mesh To. The peer has the same
// position in the other mesh. There is no part for a position that does not exist in the other mesh.
func (r *Rank) counterparts(s *calls.NcclCall, p Part) (list []Part) {
	from, to := r.meshes[s.From], r.meshes[s.To]
	if from == nil || to == nil {
		r.fault(s, BadName, "there is no mesh %s or %s", s.From, s.To)
		return nil
	}
	if at := from.at[r.Number]; at >= 0 && int(at) < len(to.members) {
		list = append(list, p.to(to.members[at]))
	}
	if at := to.at[r.Number]; at >= 0 && int(at) < len(from.members) {
		list = append(list, p.from(from.members[at]))
	}
	return list
}
