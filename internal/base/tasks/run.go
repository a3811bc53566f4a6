package tasks

import "math/rand/v2"

// Run executes the tasks in an order that the seed picks, up to the first error, and reports whether all of them ran. It
// may be called again with another seed. An odd seed gives each stream a fixed priority, so that streams of low priority
// run as late as possible, which reveals missing waits. An even seed gives each ready task its own priority.
func (s *Set) Run(seed uint64) (all bool, err error) {
	random := rand.New(rand.NewPCG(seed, 0x9E3779B97F4A7C15)) //nolint:gosec // no secret depends on it
	preferred := map[*Stream]float64{}
	ready := &queue{}
	push := func(t *Task) {
		priority := random.Float64()
		if seed%2 == 1 {
			if _, ok := preferred[t.stream]; !ok {
				preferred[t.stream] = priority
			}
			priority = preferred[t.stream]
		}
		ready.push(t, priority)
	}
	before := make([]int, len(s.tasks))
	for i, t := range s.tasks {
		before[i], t.done = t.before, false
		if t.before == 0 {
			push(t)
		}
	}
	left := len(s.tasks)
	for ; len(*ready) > 0; left-- {
		t := ready.pop()
		if t.run != nil {
			if err := t.run(); err != nil {
				return false, err
			}
		}
		t.done = true
		for _, next := range t.after {
			before[next.number]--
			if before[next.number] == 0 {
				push(next)
			}
		}
	}
	return left == 0, nil
}

type queued struct {
	task     *Task
	priority float64
}

// queue is a binary heap of ready tasks. The first is the task with the highest priority, or among equals the task that
// was added to the set first.
type queue []queued

func (q queue) before(i, j int) bool {
	if q[i].priority != q[j].priority {
		return q[i].priority > q[j].priority
	}
	return q[i].task.number < q[j].task.number
}

func (q *queue) push(t *Task, priority float64) {
	*q = append(*q, queued{t, priority})
	h := *q
	for i := len(h) - 1; i > 0 && h.before(i, (i-1)/2); i = (i - 1) / 2 {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
	}
}

func (q *queue) pop() *Task {
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
