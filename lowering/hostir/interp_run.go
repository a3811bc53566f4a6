package hostir

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// run executes the tasks in an order that the seed picks. Every second seed prefers
// some streams over others all along: that starves the rest, which is what brings out
// a missing wait.
func (m *machine) run(seed uint64) error {
	random := rand.New(rand.NewPCG(seed, 0x9E3779B97F4A7C15)) //nolint:gosec // no secret depends on it
	preferred := map[*stream]float64{}
	ready := &taskHeap{}
	push := func(t *task) {
		priority := random.Float64()
		if seed%2 == 1 {
			if _, ok := preferred[t.stream]; !ok {
				preferred[t.stream] = priority
			}
			priority = preferred[t.stream]
		}
		heap.Push(ready, queued{t, priority})
	}
	for _, t := range m.tasks {
		if t.before == 0 {
			push(t)
		}
	}
	left := len(m.tasks)
	for ; ready.Len() > 0; left-- {
		t := heap.Pop(ready).(queued).task
		if t.run != nil {
			if err := t.run(); err != nil {
				return err
			}
		}
		t.done = true
		for _, next := range t.after {
			if next.before--; next.before == 0 {
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
			line := fmt.Sprintf("rank %d waits at %s: %s", r.number, where(t.stmt.Meta().Pos), head(t.stmt))
			lines = append(lines, line)
			break
		}
	}
	for _, meeting := range m.order {
		if missing := meeting.missing(); len(missing) > 0 {
			lines = append(lines, fmt.Sprintf("%s never takes place: rank %s does not reach it",
				head(meeting.parts[0].stmt), joinRanks(missing)))
			break
		}
	}
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

// taskHeap gives the ready task with the highest priority; ties go to the one that was
// issued first.
type taskHeap []queued

func (h taskHeap) Len() int { return len(h) }
func (h taskHeap) Less(i, j int) bool {
	if h[i].priority != h[j].priority {
		return h[i].priority > h[j].priority
	}
	return h[i].task.number < h[j].task.number
}
func (h taskHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push is for package heap.
func (h *taskHeap) Push(x any) { *h = append(*h, x.(queued)) }

// Pop is for package heap.
func (h *taskHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	*h = (*h)[:last]
	return t
}
