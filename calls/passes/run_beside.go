package passes

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// runBeside lets small GEMMs of a CUDA graph run at the same time if they do not need each other, such as the projections
// of queries, keys and values. A small GEMM leaves most SMs idle, and takes several microseconds to start and to end.
//
//	Gemm(out Q, on caller)       EventRecord(fork_[0], on caller)
//	Gemm(out K, on caller)  ->   Gemm(out Q, on caller)
//	                             StreamWait(fork_[0], on compute[0])
//	                             Gemm(out K, workspace 0, on compute[0])
//	                             EventRecord(join_[0], on compute[0])
//	                             StreamWait(join_[0], on caller)
//
// A fork begins with a GEMM. A later GEMM that needs no result of the fork begins a branch on another stream. GEMMs and
// kernels that need the results of one branch continue that branch, and the others stay on the caller's stream. The
// fork ends before the first statement that needs two branches, or does something else. The order of statements stays.
// Programs with compute streams stay as they are, and so do programs without graphs, where each event costs the host time.
func runBeside(p *calls.Program) {
	if !p.Graph || p.Streams > 0 {
		return
	}
	b := &forker{program: p, effects: effects.New(p), values: p.Values(), shapes: calls.ByName(p.Shapes), names: map[string][]string{}}
	for _, d := range p.Buffers {
		if d.In != "" {
			b.names[d.Name] = []string{d.In}
		}
	}
	for _, s := range p.Body {
		if d, ok := s.(*calls.Declare); ok {
			if b.names[d.Name] = nil; d.Cond == nil {
				b.names[d.Name] = b.memory(d.Value)
			}
		}
	}
	names := taken(p)
	b.begin = &calls.Events{Name: names.Member("fork"), Label: "fork"}
	b.end = &calls.Events{Name: names.Member("join"), Label: "join"}
	var body []calls.Stmt
	for at := 0; at < len(p.Body); {
		f := b.best(p.Body[at:])
		if len(f.branches) < 2 {
			body, at = append(body, p.Body[at]), at+1
			continue
		}
		body, at = append(body, b.issue(f, p.Body[at:at+len(f.of)])...), at+len(f.of)
	}
	if b.forks > 0 {
		b.begin.Count, b.end.Count = expr.Int(b.forks), expr.Int(b.joins)
		p.Body, p.Events = body, append(p.Events, b.begin, b.end)
	}
}

// issue returns the statements of a fork with the streams of their branches, and the events between these.
func (b *forker) issue(f fork, list []calls.Stmt) []calls.Stmt {
	caller := calls.Stream{Name: calls.Caller}
	begin := calls.Event{Set: b.begin.Name, Index: expr.Int(b.forks)}
	b.forks++
	b.program.Streams = max(b.program.Streams, len(f.branches)-1)
	started := make([]calls.Info, len(f.branches)) // position and label of the first statement of each branch
	var body, joins []calls.Stmt
	for i, s := range list {
		at := f.of[i]
		if at >= 0 && started[at] == (calls.Info{}) {
			started[at] = calls.Info{Pos: s.Meta().Pos, Label: s.Meta().Label}
			if at == 0 {
				body = append(body, &calls.EventRecord{Info: started[at], Event: begin, On: caller})
				body[0].Meta().Note = "small GEMMs leave most SMs idle, so those that do not need each other run side by side"
			} else {
				info := started[at]
				info.Why = "the branch needs what the caller's stream computed before the fork"
				body = append(body, &calls.StreamWait{Info: info, Event: begin, On: branchStream(at)})
				end := calls.Event{Set: b.end.Name, Index: expr.Int(b.joins)}
				b.joins++
				info.Why = "the caller's stream continues with the results of the branch"
				joins = append(joins, calls.Order(info, end, branchStream(at), caller)...)
			}
		}
		if at > 0 {
			*onOf(s) = branchStream(at)
			if g, ok := s.(*calls.Gemm); ok {
				g.Workspace = expr.Int(at - 1)
			}
		}
		body = append(body, s)
	}
	if b.begin.Where == "" {
		b.begin.Where, b.end.Where = started[0].Label, started[1].Label
	}
	return append(body, joins...)
}

// branchStream returns the compute stream of a branch other than 0.
func branchStream(at int) calls.Stream { return calls.Stream{Index: expr.Int(at - 1)} }
