package interp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
)

// run executes the tasks in an order that the seed picks.
func (m *machine) run(seed uint64) error {
	all, err := m.tasks.Run(seed)
	if err == nil && !all {
		return m.deadlock()
	}
	return err
}

// deadlock returns an error with the wait of every stuck rank. It also names the first communication that a rank does
// not reach, and the first transfer over CUDA IPC whose statement only one of the two ranks issues.
func (m *machine) deadlock() error {
	var lines []string
	for _, r := range m.ranks {
		if t := m.tasks.Stuck(r.number); t != nil {
			stmt, _ := t.What.(hostir.Stmt)
			lines = append(lines, fmt.Sprintf("rank %d waits at %s: %s", r.number, where(stmt.Meta().Pos), text.Statement(stmt)))
		}
	}
	for _, meeting := range m.order {
		if missing := meeting.missing(); len(missing) > 0 {
			lines = append(lines, fmt.Sprintf("%s never takes place: rank %s does not reach it",
				text.Statement(meeting.parts[0].stmt), joinRanks(missing)))
			break
		}
	}
	lines = append(lines, m.unanswered()...)
	return fmt.Errorf("deadlock: nothing can run\n  %s", strings.Join(lines, "\n  "))
}

func joinRanks(ranks []int) string {
	slices.Sort(ranks)
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(ranks), " ", ", "), "[]")
}
