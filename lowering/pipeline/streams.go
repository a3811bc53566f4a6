package pipeline

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// onComputeStreams reports whether the iterations of a loop run on the compute streams. They do if there are
// compute streams, the loop computes, and no iteration depends on an earlier one. With joins: body, the loop
// may also only move data.
func (o *overlap) onComputeStreams(loop *hostir.For) bool {
	tasks := o.tasks(loop.Body)
	moves := slices.ContainsFunc(tasks, func(t *Task) bool { return t.IsTransfer() && !t.setsReady() })
	if o.program.Streams == 0 || !o.computes(loop.Body) && (!o.reference || !moves) {
		return false
	}
	return !slices.ContainsFunc(tasks, func(t *Task) bool {
		return slices.ContainsFunc(o.graph.in[t.id], func(e *Edge) bool { return e.carriedBy(loop.Var) })
	})
}

// tasks lists the tasks of some statements, including those inside loops and branches.
func (o *overlap) tasks(body []hostir.Stmt) []*Task {
	var list []*Task
	for s := range hostir.All(body) {
		if t := o.graph.of[s]; t != nil {
			list = append(list, t)
		}
	}
	return list
}

// overSubChunks reports whether a loop goes over the sub-chunks of shards: some statement in it uses a part of
// a tensor whose index is the loop variable. Its body may contain loops over shards.
func (o *overlap) overSubChunks(loop *hostir.For) bool {
	return hostir.Any(loop.Body, func(s hostir.Stmt) bool { return hostir.NamesPart(s, 0, loop.Var) })
}

// subChunks schedules a loop over sub-chunks. The GEMMs stay in order on the current stream under three
// conditions: the schedule sets block (the number of shards that one GEMM takes), there are compute streams,
// and other work follows the GEMMs. Two concurrent GEMMs would end at the same time, and neither would hide
// the transfers of the other. The statements after the GEMMs run on a compute stream, at the same time as the
// GEMMs of the next sub-chunk. Otherwise the statements are scheduled like those outside of the loop.
func (o *overlap) subChunks(loop *hostir.For, on hostir.StreamRef) []hostir.Stmt {
	cut := behindGEMMs(loop.Body)
	gemms, rest := loop.Body[:cut], loop.Body[cut:]
	if !o.program.Choices.Chooses(schedule.Block) || o.program.Streams == 0 || cut == 0 || !o.works(rest) {
		loop.Body = o.block(loop.Body, on)
		return []hostir.Stmt{loop}
	}
	beside, last := o.computeStream(loop.Var), rest[len(rest)-1]
	loop.Body = slices.Concat(o.inOrder(gemms, on), []hostir.Stmt{
		follows(beside, on, hostir.InfoFrom(rest[0], "what follows runs beside the GEMMs of the next sub-chunk"), o.whyFork(rest)),
	}, o.inOrder(rest, beside))
	return []hostir.Stmt{loop, overSame(loop, hostir.InfoFrom(last, "the caller waits for what follows the GEMMs"),
		follows(on, beside, hostir.InfoFrom(last, ""), o.whyJoin(rest)))}
}

// follows returns a Synchronize that makes stream on wait for stream other. why is the reason for the wait.
func follows(on, other hostir.StreamRef, info hostir.Info, why string) *hostir.Synchronize {
	info.On, info.Why = on, why
	return &hostir.Synchronize{Info: info, Stream: other}
}

// overSame returns a loop with the given body over the same iterations as loop.
func overSame(loop *hostir.For, info hostir.Info, body ...hostir.Stmt) *hostir.For {
	return &hostir.For{Info: info, Var: loop.Var, First: loop.First, Count: loop.Count, Body: body}
}

// inOrder schedules the loops of a list whose statements stay in order on one stream.
func (o *overlap) inOrder(body []hostir.Stmt, on hostir.StreamRef) []hostir.Stmt {
	var out []hostir.Stmt
	for _, s := range body {
		loop, ok := s.(*hostir.For)
		if !ok {
			hostir.RunOn(on, s)
			out = append(out, s)
			continue
		}
		early := o.early(loop)
		rest := o.part(loop, func(t *Task) bool { return !early[t] })
		out = append(out, o.issue(loop, early, on, "all iterations", rest != nil)...)
		if rest != nil {
			hostir.RunOn(on, rest)
			out = append(out, rest)
		}
	}
	return out
}

// works reports whether some of the statements are tasks, not only declarations of memory.
func (o *overlap) works(body []hostir.Stmt) bool {
	return hostir.Any(body, func(s hostir.Stmt) bool { return o.graph.of[s] != nil })
}

// behindGEMMs returns the index after the last statement with a GEMM, or 0 if there is none.
func behindGEMMs(body []hostir.Stmt) int {
	at := len(body)
	for at > 0 && !hostir.Any(body[at-1:at], hostir.IsGEMM) {
		at--
	}
	return at
}

// spread distributes the iterations of a loop over the compute streams, round-robin. The compute streams first
// wait for the caller, in a loop before the main loop or, with initial_waits: fused, in the main loop. The
// caller waits for them in a loop after the main loop or, with joins: body, at the end of each iteration. In
// that case, an initial wait in the main loop also waits for the iterations joined before it.
func (o *overlap) spread(loop *hostir.For) []hostir.Stmt {
	stream, last := o.computeStream(loop.Var), loop.Body[len(loop.Body)-1]
	caller := hostir.StreamRef{}
	fork := follows(stream, caller, hostir.InfoFrom(loop, ""), o.whyFork(loop.Body))
	join := follows(caller, stream, hostir.InfoFrom(last, ""), o.whyJoin(loop.Body))
	var begin []hostir.Stmt
	var forks hostir.Stmt
	if o.program.Choices.Get(schedule.InitialWaits) == schedule.Fused {
		fork.Note = "the compute stream waits for the caller, whatever that waits for by now"
		begin = append(begin, fork)
	} else {
		forks = overSame(loop, hostir.InfoFrom(loop,
			"initial waits stand in a loop of their own: in the loop below, an iteration would also wait for the joins of earlier iterations"), fork)
	}
	begin = append(begin, o.delay(loop)...)
	hostir.RunOn(stream, begin...)
	hostir.RunOn(stream, loop)
	var list []hostir.Stmt
	if forks != nil {
		list = append(list, forks)
		o.forks[loop] = forks
	}
	if ahead := o.prepared(loop); ahead != nil {
		first := o.part(loop, func(t *Task) bool { return ahead[t] })
		first.Note = "prepared and issued first: the communicator runs it before the transfers of the next loop"
		first.Body = append(slices.Clone(begin), first.Body...)
		loop = o.part(loop, func(t *Task) bool { return !ahead[t] })
		list = append(list, first)
		o.forks[first], o.forks[loop] = forks, forks
	}
	loop.Body = append(begin, loop.Body...)
	if o.reference {
		join.Note = "the caller waits for this iteration"
		loop.Body = append(loop.Body, join)
		return append(list, loop)
	}
	return append(list, loop, overSame(loop, hostir.InfoFrom(last,
		"the caller's stream waits for all compute streams: what follows reads their results and may reuse their buffers"), join))
}

// delay returns an If that keeps the compute stream of the loop's second iteration idle at first, for as long as
// the schedule field delay says. All ranks then begin with the GEMM of the first iteration. delay returns nil if
// the field is 0 or there are fewer than two compute streams.
func (o *overlap) delay(loop *hostir.For) []hostir.Stmt {
	microseconds := schedule.Number(o.program.Choices.Get(schedule.Delay))
	if microseconds == 0 || o.program.Streams < 2 {
		return nil
	}
	return []hostir.Stmt{&hostir.If{
		Info: hostir.InfoFrom(loop, "so that all ranks begin with the same GEMM"),
		Cond: &expr.Binary{Op: "==", X: expr.Var(loop.Var), Y: expr.Int(loop.First + 1)},
		Body: []hostir.Stmt{&hostir.Delay{Info: hostir.InfoFrom(loop, ""), Microseconds: microseconds}},
	}}
}

// computeStream returns the compute stream of an iteration of the loop over variable.
func (o *overlap) computeStream(variable string) hostir.StreamRef {
	return hostir.StreamRef{Index: &expr.Binary{Op: "%", X: expr.Var(variable), Y: expr.Int(o.program.Streams)}}
}
