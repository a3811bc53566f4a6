package unroll

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/collective"
)

// nccl issues a call, or a group of them.
func (i *issue) nccl(s calls.Stmt) {
	on, body := calls.Stream{}, []calls.Stmt{s}
	switch s := s.(type) {
	case *calls.NcclCall:
		on = s.On
	case *calls.NcclGroup:
		on, body = s.On, s.Body
	}
	stream, ok := i.on(s, on)
	if !ok {
		return
	}
	before := len(i.rank.Ops)
	i.begin(s, Nccl, stream).Spins = true
	i.inside(body, func(part calls.Stmt) {
		if call, ok := part.(*calls.NcclCall); ok {
			i.part(call)
			return
		}
		i.fault(part, Misplaced, "it is no part of what it stands in")
	})
	o := &i.rank.Ops[before]
	if i.end(o); o.Parts.First == o.Parts.End {
		i.rank.Ops = i.rank.Ops[:before] // an empty group does nothing
	}
}

// part adds this rank's part of a call.
func (i *issue) part(s *calls.NcclCall) {
	of, ok := i.world.comms[s.Team]
	if !ok {
		i.fault(s, BadName, "no team is called %s", s.Team)
		return
	}
	p := Part{Stmt: i.numbers[s], Comm: of[i.number], Root: -1, Peer: -1, In: -1, Out: -1}
	if p.Comm < 0 {
		i.fault(s, Unreached, "the rank is not in team %s", s.Team)
		return
	}
	if p.Count, ok = i.value(s, s.Count); !ok {
		return
	}
	switch s.Kind {
	case "send", "recv":
		i.pointToPoint(s, p)
	case "send_recv":
		i.counterparts(s, p)
	default:
		i.collective(s, p)
	}
}

func (i *issue) collective(s *calls.NcclCall, p Part) {
	form := collective.Of(s.Kind)
	if form == nil {
		i.fault(s, BadName, "NCCL has no %q", s.Kind)
		return
	}
	ranks := i.out.Comms[p.Comm].Ranks
	if s.Root != nil {
		root, ok := i.value(s, s.Root)
		if !ok || root < 0 || root >= int64(len(ranks)) {
			i.fault(s, BadValue, "there is no root %d among %d ranks", root, len(ranks))
			return
		}
		p.Root = int32(root)
	}
	rooted := p.Root >= 0 && ranks[p.Root] == i.number
	sends, receives := form.Sides(rooted)
	sent, received := form.Slices(int64(len(ranks)))
	if receives && (!s.InPlace || !rooted) {
		p.Out = i.run(s, 0, true, s.Out, s.Type.Size(), received*p.Count)
	}
	if sends {
		p.In = i.run(s, 1, false, s.In, s.Type.Size(), sent*p.Count)
	}
	i.rank.Parts = append(i.rank.Parts, p)
}

func (i *issue) pointToPoint(s *calls.NcclCall, p Part) {
	peer, ok := i.value(s, s.Peer)
	if !ok {
		return
	}
	if !slices.Contains(i.out.Comms[p.Comm].Ranks, int32(peer)) {
		i.fault(s, BadValue, "there is no rank %d in team %s", peer, s.Team)
		return
	}
	if s.Kind == "send" {
		i.send(s, p, int32(peer))
	} else {
		i.receive(s, p, int32(peer))
	}
}

func (i *issue) send(s *calls.NcclCall, p Part, peer int32) {
	p.Kind, p.Peer = Send, peer
	p.In = i.run(s, 1, false, s.In, s.Type.Size(), p.Count)
	i.rank.Parts = append(i.rank.Parts, p)
}

func (i *issue) receive(s *calls.NcclCall, p Part, peer int32) {
	p.Kind, p.Peer = Recv, peer
	p.Out = i.run(s, 0, true, s.Out, s.Type.Size(), p.Count)
	i.rank.Parts = append(i.rank.Parts, p)
}

// counterparts adds a send to the rank at the same position in another mesh, and a receive from there.
func (i *issue) counterparts(s *calls.NcclCall, p Part) {
	from, to := i.world.meshes[s.From], i.world.meshes[s.To]
	if from == nil || to == nil {
		i.fault(s, BadName, "there is no mesh %s or %s", s.From, s.To)
		return
	}
	if at := from.at[i.number]; at >= 0 && int(at) < len(to.members) {
		i.send(s, p, int32(to.members[at]))
	}
	if at := to.at[i.number]; at >= 0 && int(at) < len(from.members) {
		i.receive(s, p, int32(from.members[at]))
	}
}
