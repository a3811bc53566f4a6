package order

import (
	"fmt"

	"github.com/hirgen/hirgen/calls"
)

// signals derives order from the flags of transfers in which this rank is the owner. A peer writes a done flag after it
// has seen the ready flag of the same transfer. So a wait for the done flag follows the write of the ready flag.
type signals struct {
	ready        map[string]Clock // by transfer: clock of the write of its ready flag, with the write itself
	sets, awaits []string         // transfers whose ready flags the current task writes, and whose done flags it waits for
	open         map[string]int   // by share: number of ready flags written, minus the number of waits for done flags
}

func newSignals() *signals { return &signals{ready: map[string]Clock{}, open: map[string]int{}} }

// paired reports whether this rank has written ready flags of a share, and waited for as many done flags.
func (g *signals) paired(share string) bool {
	left, known := g.open[share]
	return known && left == 0
}

// note adds a statement's ready and done flags to the flags of the current task.
func (g *signals) note(o *Ordering, s calls.Stmt) {
	name := func(f calls.Flag) string {
		transfer, _ := o.walk.Value(nil, f.Transfer)
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

// before returns the clock c of a task that waits for done flags, merged with the clocks of the ready flags of the same
// transfers.
func (g *signals) before(c Clock) Clock {
	for _, transfer := range g.awaits {
		c = c.Merged(g.ready[transfer])
	}
	return c
}

// after records the clock of the ready flags that a task writes, and clears the flags of the task.
func (g *signals) after(c Clock) {
	for _, transfer := range g.sets {
		g.ready[transfer] = c
	}
	g.sets, g.awaits = nil, nil
}
