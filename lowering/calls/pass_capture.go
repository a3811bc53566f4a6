package calls

import "github.com/hirgen/hirgen/internal/expr"

// joinCapture joins the copy stream at the end of a call that is captured as a CUDA graph, where nothing
// else does: it may only have told peers something, for which nobody here waits, and a capture ends with
// an error where a stream is not joined.
func joinCapture(p *Program) {
	if !p.Graph {
		return
	}
	o := newOrdering(p)
	left := false
	o.finish = func(o *ordering) {
		n, ok := o.streams[Copies]
		caller := o.clocks[o.stream(Stream{Name: Caller})]
		left = left || ok && !caller.covers(o.clocks[n])
	}
	for _, o.spread = range []spread{oneNode, manyNodes} {
		o.runAll()
	}
	if !left {
		return
	}
	var info Info
	Walk(p.Body, func(s Stmt) bool {
		if usesStream([]Stmt{s}, Stream{Name: Copies}) && s.Meta().Label != "" {
			info = Info{Pos: s.Meta().Pos, Label: s.Meta().Label}
		}
		return true
	})
	event := Event{"copy_joined_", expr.Int(0)}
	p.Events = append(p.Events, &Events{event.Set, "copy_joined", expr.Int(1), info.Label})
	join := order(info, event, Stream{Name: Copies}, Stream{Name: Caller})
	join[0].Meta().Note = "a graph joins all of its streams"
	p.Body = append(p.Body, join...)
}
