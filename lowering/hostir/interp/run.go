package interp

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/lowering/hostir/text"
)

// run executes the tasks in an order that the seed picks. Every second seed prefers
// some streams over others all along: that starves the rest, which is what brings out
// a missing wait.
func (m *machine) run(seed uint64) error {
	random := rand.New(rand.NewPCG(seed, 0x9E3779B97F4A7C15)) //nolint:gosec // no secret depends on it
	preferred := map[*stream]float64{}
	ready := &queue{}
	push := func(t *task) {
		priority := random.Float64()
		if seed%2 == 1 {
			if _, ok := preferred[t.stream]; !ok {
				preferred[t.stream] = priority
			}
			priority = preferred[t.stream]
		}
		ready.push(t, priority)
	}
	for _, t := range m.tasks {
		if t.before == 0 {
			push(t)
		}
	}
	left := len(m.tasks)
	for ; len(*ready) > 0; left-- {
		t := ready.pop()
		if t.run != nil {
			if err := t.run(); err != nil {
				return err
			}
		}
		t.done = true
		for _, next := range t.after {
			next.before--
			if next.before == 0 {
				push(next)
			}
		}
	}
	if left > 0 {
		return m.deadlock()
	}
	return nil
}

// deadlock says what every stuck rank waits for.
func (m *machine) deadlock() error {
	var lines []string
	for _, r := range m.ranks {
		for _, t := range m.tasks {
			if t.rank != r.number || t.done || t.stmt == nil {
				continue
			}
			line := fmt.Sprintf("rank %d waits at %s: %s", r.number, where(t.stmt.Meta().Pos), text.Statement(t.stmt))
			lines = append(lines, line)
			break
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

type queued struct {
	task     *task
	priority float64
}

// queue gives the ready task with the highest priority; ties go to the one that was
// issued first. It is a binary heap.
type queue []queued

func (q queue) before(i, j int) bool {
	if q[i].priority != q[j].priority {
		return q[i].priority > q[j].priority
	}
	return q[i].task.number < q[j].task.number
}

func (q *queue) push(t *task, priority float64) {
	*q = append(*q, queued{t, priority})
	h := *q
	for i := len(h) - 1; i > 0 && h.before(i, (i-1)/2); i = (i - 1) / 2 {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
	}
}

func (q *queue) pop() *task {
	h := *q
	first, last := h[0].task, len(h)-1
	h[0] = h[last]
	h = h[:last]
	*q = h
	for i := 0; ; {
		child := 2*i + 1
		if child+1 < last && h.before(child+1, child) {
			child++
		}
		if child >= last || !h.before(child, i) {
			return first
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
