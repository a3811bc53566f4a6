package order

import (
	"fmt"

	"github.com/hirgen/hirgen/calls"
)

// signals derives order from the flags of the program's memory. A peer writes a done flag after it has seen the ready flag of the
// same transfer. So a wait for the done flag follows the write of the ready flag.
type signals struct {
	ready        map[string]Clock // by transfer: clock of the write of its ready flag, including the write
	sets, awaits []string         // transfers of the flags that the current task writes, and waits for
	open         map[string]int   // by share: number of ready flags without a wait for the done flag so far
}

func newSignals() *signals { return &signals{ready: map[string]Clock{}, open: map[string]int{}} }

// paired reports whether this rank has let peers access a share, and waited for all of them.
func (g *signals) paired(share string) bool {
	left, known := g.open[share]
	return known && left == 0
}

// note adds a statement's flags to the flags of the current task.
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

// before merges the clocks of the flags that a task waits for into its clock.
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
