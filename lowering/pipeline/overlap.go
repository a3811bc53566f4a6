package pipeline

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// Overlap makes independent statements run at the same time, as far as the schedule and the edges allow. It issues transfers ahead of
// the loops that need them, spreads the iterations of pipelines over the compute streams, and waits for each transfer where it is first
// needed. It does nothing to a program without loops and transfers, or with statements on other streams.
//
// Requires: all statements run on the caller's stream; a Wait follows each transfer; every communication has
// a backend.
// Establishes: at the end the caller's stream waits for all issued work. A lead that the user sets and that no transfer can have is an
// error.
//
//	before: For s: gather(s); Wait(gather); C_s = Matmul(A_all_s, B)
//
//	after:  For s: gather(s)
//	        For s: (compute stream s waits for the caller)
//	        For s: Wait(gather); C_s = Matmul(A_all_s, B)
//	        For s: (the caller waits for compute stream s)
func Overlap(p *hostir.Program) error {
	if hostir.Any(p.Body, leavesCaller) || !hostir.Any(p.Body, isLoopOrTransfer) {
		return nil
	}
	graph, err := Build(p)
	if err != nil {
		return err
	}
	return overlapBy(graph, p)
}

// overlapBy is Overlap with a graph that is already built.
func overlapBy(graph *Graph, p *hostir.Program) error {
	o := &overlap{
		Projector: NewProjector(p), graph: graph, names: hostir.NewNamer(p),
		reference: p.Choices.Get(schedule.Joins) == schedule.Body, forks: map[hostir.Stmt]hostir.Stmt{},
		around: map[hostir.Stmt]hostir.StreamRef{},
		led:    map[*Task]bool{},
	}
	o.explainTransfers()
	if !o.reference || slices.ContainsFunc(graph.Tasks, o.leads) || p.Choices.Any(schedule.Steps, schedule.Ring) {
		p.Body = withoutWaits(p.Body)
		o.derive = true
	}
	if !o.reference && slices.ContainsFunc(graph.Tasks, o.leads) {
		p.Body = o.order(p.Body)
	}
	p.Body = o.block(p.Body, hostir.StreamRef{})
	if o.derive {
		p.Body = o.placeWaits(p.Body)
	} else {
		explainKept(p.Body)
	}
	if p.Choices.InterNode != "" {
		return nil // a fallback variant: a lead that is impossible here may be possible in the main variant
	}
	return o.forbidden()
}

// overlap rewrites one program.
type overlap struct {
	*Projector
	names     *hostir.Namer
	graph     *Graph
	reference bool // joins: body, as in preset: reference: the caller waits for each iteration at its end
	derive    bool // put Waits where edges require them, not where transfers are issued
	// forks maps a loop to the first of the initial waits before the loop, if there are any. A Wait that goes before
	// the loop is inserted before the initial waits.
	forks map[hostir.Stmt]hostir.Stmt
	// around is the stream of the statement list that contains a loop; the loop itself may begin on another
	// stream.
	around map[hostir.Stmt]hostir.StreamRef
	led    map[*Task]bool // tasks that are issued ahead
}

// leavesCaller reports whether a statement runs on a stream other than the caller's.
func leavesCaller(s hostir.Stmt) bool { return !s.Meta().On.Is(hostir.StreamRef{}) }

func isLoopOrTransfer(s hostir.Stmt) bool {
	return hostir.Is[*hostir.For](s) || isTransfer(s)
}

// withoutWaits drops all Waits of a list, and branches and loops that contain nothing else.
func withoutWaits(body []hostir.Stmt) []hostir.Stmt {
	return hostir.Rewrite(body, func(s hostir.Stmt) []hostir.Stmt {
		if hostir.Is[*hostir.Wait](s) || isEmpty(s) {
			return nil
		}
		return []hostir.Stmt{s}
	})
}

// isEmpty reports whether a statement has statement lists, such as a branch or a loop, and all of them are empty.
func isEmpty(s hostir.Stmt) bool {
	bodies := hostir.Bodies(s)
	return len(bodies) > 0 && !slices.ContainsFunc(bodies, func(b *[]hostir.Stmt) bool { return len(*b) > 0 })
}

// block schedules the loops of a list, whose other statements run on the given stream.
func (o *overlap) block(body []hostir.Stmt, on hostir.StreamRef) []hostir.Stmt {
	out := make([]hostir.Stmt, 0, len(body)+8)
	for _, s := range body {
		if loop, ok := s.(*hostir.For); ok && (o.computes(loop.Body) || hostir.Any(loop.Body, isTransfer)) {
			list := o.loop(loop, on)
			for _, s := range list {
				o.around[s] = on
			}
			out = append(out, list...)
		} else {
			hostir.RunOn(on, s)
			out = append(out, s)
		}
	}
	return out
}

// loop schedules one loop of a list whose other statements run on the given stream. It returns the statements that
// replace the loop: the transfers that are issued before it, then the rest of the loop.
func (o *overlap) loop(loop *hostir.For, on hostir.StreamRef) []hostir.Stmt {
	early := o.early(loop)
	rest := loop
	if len(early) > 0 {
		rest = o.part(loop, func(t *Task) bool { return !early[t] })
	}
	list := o.issue(loop, early, on, "all iterations", rest != nil)
	if rest == nil {
		return list
	}
	bySubChunk, runs := o.overSubChunks(rest), on
	spreads := !bySubChunk && o.onComputeStreams(rest)
	if spreads {
		runs = o.computeStream(rest.Var)
	}
	ahead := o.ahead(o.leading(loop), rest, on, runs)
	list = append(list, ahead.before...)
	switch {
	case bySubChunk:
		list = append(list, o.subChunks(ahead.loop, on)...)
	case spreads:
		list = append(list, o.spread(ahead.loop)...)
	default:
		hostir.RunOn(on, ahead.loop)
		list = append(list, ahead.loop)
	}
	hostir.RunOn(hostir.StreamRef{Copies: true}, ahead.copied...)
	return list
}

// computes reports whether statements do more than move data between ranks.
func (o *overlap) computes(body []hostir.Stmt) bool {
	return hostir.Any(body, func(s hostir.Stmt) bool {
		return len(hostir.Defs(s)) > 0 && !isTransfer(s)
	})
}
