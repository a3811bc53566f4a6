package cost

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/issue"
)

// statement converts a statement to tasks of the rank, and adds the time in which the host issues it. It fails with
// errTooMany beyond MaxCalls.
func (r *rank) statement(s calls.Stmt) {
	if r.iterations++; r.iterations > MaxCalls || len(r.tasks) > MaxCalls {
		r.fail(errTooMany)
		return
	}
	m := r.machine
	switch s := s.(type) {
	case *calls.BeginCall:
		r.walk.Begin(s)
	case *calls.EventRecord:
		r.record(s)
	case *calls.StreamWait:
		r.wait(s)
	case *calls.Delay:
		r.issue(r.on(s, s.On), s, work{fixed: float64(s.Microseconds), host: m.Host.Kernel})
	case *calls.NcclCall:
		r.nccl(s, s.On, []calls.Stmt{s})
	case *calls.NcclGroup:
		r.nccl(s, s.On, s.Body)
	case *calls.FlagWrite:
		r.batch(s, s.On, []calls.Stmt{s})
	case *calls.FlagWait:
		r.batch(s, s.On, []calls.Stmt{s})
	case *calls.MemOpBatch:
		r.batch(s, s.On, s.Body)
	case *calls.Transfer:
		r.batch(s, s.On, []calls.Stmt{s})
	case *calls.PeerSum:
		r.peerSum(s)
	case *calls.Memcpy:
		r.copy(s)
	case *calls.Gemm:
		r.compute(s, s.On)
	case *calls.Attend:
		r.compute(s, s.On)
	case *calls.Launch:
		r.compute(s, s.On)
	}
}

// record maps an event to the last task of its stream. It takes no time on the device.
func (r *rank) record(s *calls.EventRecord) {
	event, stream, ok := r.walk.Event(s, s.Event, s.On)
	if !ok {
		return
	}
	if !r.program.Graph {
		r.host += r.machine.Host.Event
	}
	r.events[event] = r.streams[r.stream(stream)].last
}

func (r *rank) wait(s *calls.StreamWait) {
	event, stream, ok := r.walk.Event(s, s.Event, s.On)
	if !ok {
		return
	}
	on, w := r.stream(stream), work{host: r.machine.Host.Event}
	other := r.events[event]
	if other >= 0 && r.tasks[other].stream != on {
		w.fixed = r.machine.Device.Event
	}
	r.issue(on, s, w, other)
}

// compute issues a statement that computes on one rank.
func (r *rank) compute(s calls.Stmt, on calls.Stream) {
	w, known := r.works[s]
	if !known {
		var fixed bool
		if w, fixed = r.workOf(s); fixed {
			r.works[s] = w
		}
	}
	r.issue(r.on(s, on), s, w)
}

// copy issues a copy. A copy engine copies to or from a peer; a kernel copies within a rank.
func (r *rank) copy(s *calls.Memcpy) {
	out, _ := r.walk.At(s, s.Out)
	in, _ := r.walk.At(s, s.In)
	peer, puts := in.Owner, false
	if out.Owner != r.walk.Number {
		peer, puts = out.Owner, true
	}
	if peer == r.walk.Number {
		r.compute(s, s.On)
		return
	}
	elements, _ := r.walk.Value(s, s.Elements)
	t := r.issue(r.on(s, s.On), s, r.machine.copyEngine(puts, elements*s.Type.Size()))
	r.ends(t, peer)
}

// ends records that a copy has two ranks: this one, which copies, and its peer.
func (r *rank) ends(t, peer int32) {
	place := r.place32(peer)
	if r.classes != nil {
		place = r.classes.like(place)
	}
	r.tasks[t].ranks = []int32{r.place, place}
}

// place32 returns the place of a rank.
func (u *unrolling) place32(number int32) int32 { return u.place[int64(number)] }

// flagKey identifies a flag: its owner and number or, with classes, the group of its joint.
type flagKey struct{ owner, flag int32 }

// flag returns the joint of a flag. The task that sets the flag has an edge to it.
func (r *rank) flag(s calls.Stmt, f issue.Signal) int32 {
	key, owner := flagKey{f.Owner, f.Flag}, r.place32(f.Owner)
	if at := r.joint(key); r.classes != nil {
		key = flagKey{-1, r.classes.group(at)}
		owner = r.classes.like(owner)
	}
	t, known := r.flags[key]
	if !known {
		t = r.add(task{work: work{kind: joint}, stmt: s, stream: -1, ranks: r.alone(owner), before: 1})
		r.flags[key] = t
	}
	return t
}

// flagged collects the joints that a task waits for and sets.
type flagged struct{ waits, sets []int32 }

func (r *rank) signal(g *flagged, s calls.Stmt) func(issue.Signal, int32) {
	return func(f issue.Signal, _ int32) {
		if f.Write {
			g.sets = append(g.sets, r.flag(s, f))
		} else {
			g.waits = append(g.waits, r.flag(s, f))
		}
	}
}

// start issues a task that waits for flags and sets flags.
func (r *rank) start(s calls.Stmt, on calls.Stream, w work, g *flagged) int32 {
	t := r.issue(r.on(s, on), s, w, g.waits...)
	for _, f := range g.sets {
		r.leads(t, f)
	}
	return t
}

// batch issues flag operations, or copies by one kernel, between ranks or within this one, as one task.
func (r *rank) batch(s calls.Stmt, on calls.Stream, body []calls.Stmt) {
	var g flagged
	var peer int32
	flags, copies, bytes, local, puts, m := 0, 0, int64(0), int64(0), false, r.machine
	w := work{kind: FlagWait, fixed: m.Device.Flag, host: m.Host.Flag}
	r.walk.Run(body, func(part calls.Stmt) {
		switch part := part.(type) {
		case *calls.FlagWrite:
			w.kind = FlagWrite
			flags++
			if f, share, ok := r.walk.Signal(part, part.Flag, part.Peer); ok {
				r.signal(&g, part)(f, share)
			}
		case *calls.FlagWait:
			flags++
			if f, share, ok := r.walk.Signal(part, part.Flag, nil); ok {
				r.signal(&g, part)(f, share)
			}
		case *calls.Transfer:
			copies++
			elements, _ := r.walk.Value(part, part.Elements)
			bytes += elements * part.Type.Size()
			out, _ := r.walk.At(part, part.Out)
			puts = out.Owner != r.walk.Number
			at, _ := r.walk.Value(part, part.Peer)
			peer = int32(at)
			r.walk.Exchange(part, part.Share, part.Peer, part.Transfer, r.signal(&g, part))
		case *calls.Memcpy:
			moved, _ := r.bytesOf(part)
			local += moved
		}
	})
	switch {
	case r.err != nil || flags+copies == 0 && local == 0:
		return
	case local > 0:
		w = m.bytesWork(float64(local))
	case copies > 0:
		w = m.copyKernel(puts, bytes)
	default:
		w.fixed += float64(flags-1) * m.Device.FlagBatch
	}
	if t := r.start(s, on, w, &g); copies == 1 {
		r.ends(t, peer)
	}
}

// peerSum issues a kernel that waits for the ready flags of its peers, reads their memory, adds, and may store
// there.
func (r *rank) peerSum(s *calls.PeerSum) {
	bytes, _ := r.bytesOf(s)
	w, g := r.machine.bytesWork(float64(bytes)), flagged{}
	r.walk.Run(s.Body, func(part calls.Stmt) {
		p, ok := part.(*calls.PeerPart)
		if !ok {
			return
		}
		elements, _ := r.walk.Value(p, p.Elements)
		if moved := float64(elements * s.Type.Size()); p.Store {
			w.out += moved
		} else {
			w.in += moved
		}
		r.walk.Exchange(p, p.Share, p.Peer, p.Transfer, r.signal(&g, p))
	})
	if r.err == nil {
		r.start(s, s.On, r.machine.overLinks(w), &g)
	}
}
