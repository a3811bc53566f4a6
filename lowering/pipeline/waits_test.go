package pipeline_test

import (
	"fmt"
	"testing"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model/schedule"
)

// mostWork limits the events of programs from which the test removes waits one by one.
const mostWork = 300

// TestNoWaitIsImplied is property 5: no Synchronize is redundant. If the test removes one, some event no longer follows an
// event that it followed before. The test does not remove Waits: the verifier requires one for each transfer, although a later
// transfer of the same communicator may imply it. Programs with preset: reference or buffers: free are exempt.
func TestNoWaitIsImplied(t *testing.T) {
	removed := 0
	holds(t, func(s *subject) error {
		if !s.accepted() || s.pipeline.Schedule.Get(schedule.Preset) == schedule.Reference ||
			s.pipeline.Schedule.Get(schedule.Buffers) == schedule.Free {
			return nil
		}
		f := s.forms[0]
		whole := follows(f.order)
		for i := range syncs(f.program) {
			if len(whole) > mostWork {
				break
			}
			removed++
			mutant, line, err := withoutSync(f.program, i)
			if err != nil {
				return err
			}
			h, err := lowertest.NewHappensBefore(f.nodes, mutant)
			if err != nil {
				return err
			}
			if same(whole, follows(h)) {
				return fmt.Errorf("%s is implied by others\n%s", line, text.Print(f.program))
			}
		}
		return nil
	})
	if removed < 100 {
		t.Errorf("%d waits were removed: that tests little", removed)
	}
}

// follows returns, for each event on a stream that is no Synchronize or Wait, which of these events it follows.
func follows(h *lowertest.HappensBefore) [][]bool {
	var work []int
	for i, e := range h.Events {
		switch e.Stmt.(type) {
		case *hostir.Synchronize, *hostir.Wait:
		default:
			if e.Stream != "" {
				work = append(work, i)
			}
		}
	}
	rows := make([][]bool, len(work))
	for i, to := range work {
		rows[i] = make([]bool, len(work))
		for j, from := range work {
			rows[i][j] = h.Follows(to, from)
		}
	}
	return rows
}

func same(a, b [][]bool) bool {
	for i, row := range a {
		for j, follows := range row {
			if follows != b[i][j] {
				return false
			}
		}
	}
	return true
}

// syncs counts the Synchronize statements of a program.
func syncs(p *hostir.Program) int {
	n := 0
	for s := range hostir.All(p.Body) {
		if _, is := s.(*hostir.Synchronize); is {
			n++
		}
	}
	return n
}

// withoutSync returns a copy of a program without Synchronize number i, and the text of that statement.
func withoutSync(p *hostir.Program, i int) (*hostir.Program, string, error) {
	mutant, err := text.Parse("mutant", text.Print(p))
	if err != nil {
		return nil, "", err
	}
	removed := ""
	mutant.Body = hostir.Rewrite(mutant.Body, func(s hostir.Stmt) []hostir.Stmt {
		if _, is := s.(*hostir.Synchronize); is {
			if i--; i == -1 {
				removed = text.Statement(s)
				return nil
			}
		}
		return []hostir.Stmt{s}
	})
	return mutant, removed, nil
}
