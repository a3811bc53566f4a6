package order

import (
	"fmt"

	"github.com/hirgen/hirgen/lowering/calls"
)

// signals say what the flags of the program's own memory imply: a peer writes a done flag when it has seen the ready flag of the same
// transfer, so that who waits for the one is behind the other.
type signals struct {
	ready        map[string]Clock // by transfer: what its ready flag is behind, and itself
	sets, awaits []string         // transfers of the parts of a batch so far
	open         map[string]int   // by share: ready flags whose done flags were not awaited so far
}

func newSignals() *signals { return &signals{ready: map[string]Clock{}, open: map[string]int{}} }

// paired reports whether this rank has let peers access a share, and waited for all of them.
func (g *signals) paired(share string) bool {
	left, known := g.open[share]
	return known && left == 0
}

// note adds the flags of a statement to those of the task at hand.
func (g *signals) note(o *Ordering, s calls.Stmt) {
	name := func(f calls.Flag) string {
		transfer, _ := o.walk.Env.Eval(f.Transfer)
		return fmt.Sprint(f.Share, " ", transfer)
	}
	switch s := s.(type) {
	case *calls.FlagWrite:
		if !s.Flag.Done {
			g.sets = append(g.sets, name(s.Flag))
			g.open[s.Flag.Share]++
		}
	case *calls.FlagWait:
		if s.Flag.Done {
			g.awaits = append(g.awaits, name(s.Flag))
			g.open[s.Flag.Share]--
		}
	}
}

// before is what a task is behind by its flags, too.
func (g *signals) before(c Clock) Clock {
	for _, transfer := range g.awaits {
		c = c.merged(g.ready[transfer])
	}
	return c
}

// after keeps what the flags say that a task has written.
func (g *signals) after(c Clock) {
	for _, transfer := range g.sets {
		g.ready[transfer] = c
	}
	g.sets, g.awaits = nil, nil
}
