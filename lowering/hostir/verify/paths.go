package verify

import (
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// loop checks a body once. Facts that the body adds end with the loop, except for kinds that outlive it: a later loop may wait
// for a communication that this loop starts.
func (f *flow) loop(s *hostir.For) {
	if s.Count.Size < 1 || s.First < 0 || s.First > s.Count.Size {
		f.breach(s, "domain", "the loop runs %d times", s.Count.Size-s.First)
	}
	outer, shadowed := f.bounds.names[s.Var]
	if shadowed {
		f.breach(s, "scope", "loop variable %s is in use already", s.Var)
	}
	f.bounds.names[s.Var] = interval{s.First, max(s.First, s.Count.Size-1)}
	mark := len(f.log)
	f.loops = append(f.loops, s)
	f.block(s.Body)
	f.loops = f.loops[:len(f.loops)-1]
	delete(f.bounds.names, s.Var)
	if shadowed {
		f.bounds.names[s.Var] = outer
	}
	if len(f.loops) == 0 {
		for _, w := range f.earlier {
			f.waitFor(w.Wait, w.loops)
		}
		f.earlier = nil
	}
	f.leaked(mark, "%s is allocated in every iteration and not freed in it")
	own := map[fact]bool{} // facts that the body itself adds, and may remove again
	for _, c := range f.log[mark:] {
		own[c.fact] = own[c.fact] || c.added
	}
	changes := f.undo(mark, func(c change) bool { return own[c.fact] && !c.fact.kind.outlives() })
	for _, c := range changes {
		if c.fact.kind == allocated && !own[c.fact] {
			f.breach(s, "buffer", "the loop frees %s in every iteration", c.fact)
		}
	}
}

// branch checks both sides from the same start. Afterwards these facts are true: those that both sides add, and the
// earlier ones that neither side removes. A freed buffer stays freed, and a lasting fact stays, even if only one side adds
// the fact.
func (f *flow) branch(s *hostir.If) {
	f.expression(s, "the condition", s.Cond, 1<<62)
	mark := len(f.log)
	all := func(change) bool { return true }
	f.side(s.Cond, s.Body)
	lasting := f.lasting(mark)
	then := f.undo(mark, all)
	f.side(expr.Opposite(s.Cond), s.Else)
	lasting = append(lasting, f.lasting(mark)...)
	other := f.undo(mark, all)
	f.freedAlone(s, then, other)
	both := map[fact]bool{}
	for _, c := range then {
		both[c.fact] = c.added
	}
	for _, c := range other {
		if added, ok := both[c.fact]; c.added && ok && added {
			f.set(c.fact.kind, c.fact.what, true)
		}
	}
	for _, c := range append(then, other...) {
		if !c.added {
			f.set(c.fact.kind, c.fact.what, false)
		} else if c.fact.kind == freed {
			f.set(freed, c.fact.what, true)
		}
	}
	for _, k := range lasting {
		f.set(k.kind, k.what, true)
	}
}

// side checks statements under a condition, which may bound a variable.
func (f *flow) side(cond expr.Expr, body []hostir.Stmt) {
	if c, ok := cond.(*expr.Binary); ok {
		name, _ := c.X.(expr.Var)
		limit, _ := f.bounds.of(c.Y)
		if outer, known := f.bounds.names[string(name)]; known && (c.Op == "<" || c.Op == ">=") {
			defer func() { f.bounds.names[string(name)] = outer }()
			if c.Op == "<" {
				f.bounds.names[string(name)] = interval{outer.low, min(outer.high, limit.high-1)}
			} else {
				f.bounds.names[string(name)] = interval{max(outer.low, limit.low), outer.high}
			}
		}
	}
	f.block(body)
}

// pending lists the communications that were started since mark and not waited for. A branch may leave such communications to
// later statements, because the same condition may guard a later loop.
func (f *flow) pending(mark int) []fact { return f.added(mark, started) }

// added lists the facts of a kind that were added since mark and are still true.
func (f *flow) added(mark int, kind factKind) []fact {
	var list []fact
	for _, c := range f.log[mark:] {
		if c.added && c.fact.kind == kind && f.facts[c.fact] {
			list = append(list, c.fact)
		}
	}
	return list
}

// lasting lists facts of one side of a branch that stay whichever side is taken: communications that the side started, and
// memory that it has to free. In a loop, whose iterations may take both sides, lasting also lists the writes of the side.
func (f *flow) lasting(mark int) []fact {
	list := append(f.pending(mark), f.added(mark, kept)...)
	if len(f.loops) > 0 {
		list = append(list, f.added(mark, written)...)
	}
	return list
}
