package cost

import (
	"fmt"
	"math"
	"slices"
)

// simulation runs the tasks of an unrolling. The rates of tasks are constant between two events. An event is
// a task that begins or stops using shared resources.
type simulation struct {
	*unrolling
	hosted bool // tasks wait until the host has issued them
	queue  eventQueue
	active [][]activity // by rank, in the order in which they began
	left   int          // number of tasks that have not ended
	now    float64
}

// activity is a task in progress on one of its ranks. slot is the index in task.ranks.
type activity struct {
	task int32
	slot int32
}

// simulate finds when every task starts and ends. If hosted is false, all tasks are issued at the start, as when calls follow each
// other and the host is ahead. A task that never ends is an error.
func simulate(u *unrolling, hosted bool) error {
	s := &simulation{unrolling: u, hosted: hosted, active: make([][]activity, len(u.places)), left: len(u.tasks)}
	waits := make([]int32, len(u.tasks))
	for i := range u.tasks {
		t := &u.tasks[i]
		waits[i], t.cause, t.version, t.local, t.rate, t.waited = t.before, -1, 0, nil, 0, false
		if t.before == 0 {
			s.ready(int32(i))
		}
	}
	for len(s.queue) > 0 {
		e := s.queue.pop()
		t := &u.tasks[e.task]
		if e.version != t.version {
			continue // the event is obsolete: the rate of its task has changed since
		}
		s.now = e.time
		if t.local == nil && t.alone > 0 {
			if wait := s.wave(t); wait > 0 && !t.waited {
				t.waited, t.begin = true, s.now+wait
				s.queue.push(event{t.begin, e.task, t.version})
				continue
			}
			s.begin(e.task)
			continue
		}
		s.end(e.task, waits)
	}
	if s.left > 0 {
		return s.stuck()
	}
	return nil
}

// ready starts a task whose predecessors have ended.
func (s *simulation) ready(i int32) {
	t := &s.tasks[i]
	t.start = s.now
	if s.hosted {
		t.start = max(t.start, t.issued)
	}
	t.begin = t.start + t.fixed
	s.queue.push(event{t.begin, i, 0})
}

// enough is the share of its SMs that a communication needs before it begins. It is below 1, because several of its
// blocks fit on one SM.
const enough = 0.15

// wave returns how long a kernel, or a communication that runs on SMs, waits for the SMs of running GEMMs. A GEMM of
// cuBLASLt has one block on each SM, which computes tile after tile and ends when no tile is left. A communication begins
// with the share enough of its SMs, and a kernel with the share memorySMs of all SMs. GEMMs and peer reads never wait.
func (s *simulation) wave(t *task) float64 {
	wait, share := 0.0, t.sms*enough
	if t.sms == 0 || t.gemm != nil || t.kind == PeerRead {
		return wait
	}
	if t.kind == Kernel {
		share = memorySMs
	}
	all := int64(s.machine.SMs)
	for _, r := range t.ranks {
		for _, a := range s.active[r] {
			other := &s.tasks[a.task]
			if other.gemm == nil || other.rate < memorySMs { // it runs slowly, on few SMs
				continue
			}
			rounds, rest := other.gemm.tiles/all, other.gemm.tiles%all
			one := other.alone / float64(ceil(other.gemm.tiles, all))
			if rest > 0 && float64(all-rest) < share*float64(all) {
				rounds++
			}
			done := other.alone - other.left + (s.now-other.since)*other.rate
			wait = max(wait, (float64(rounds)*one-done)/other.rate)
		}
	}
	return wait
}

// begin adds a task to the tasks that share resources.
func (s *simulation) begin(i int32) {
	t := &s.tasks[i]
	t.left, t.since, t.local = t.alone, s.now, make([]float64, len(t.ranks))
	t.version++
	for slot, r := range t.ranks {
		s.active[r] = append(s.active[r], activity{i, int32(slot)})
	}
	for _, r := range t.ranks {
		s.share(r)
	}
}

// end releases the resources of a task, and starts tasks that waited for it.
func (s *simulation) end(i int32, waits []int32) {
	t := &s.tasks[i]
	t.end = s.now
	t.version++
	s.left--
	if t.local != nil {
		for _, r := range t.ranks {
			at := slices.IndexFunc(s.active[r], func(a activity) bool { return a.task == i })
			s.active[r] = slices.Delete(s.active[r], at, at+1)
		}
		for _, r := range t.ranks {
			s.share(r)
		}
	}
	for e := t.first; e >= 0; e = s.edges[e].next {
		to := s.edges[e].to
		if waits[to]--; waits[to] == 0 {
			s.tasks[to].cause = i
			s.ready(to)
		}
	}
}

// pace sets the rate of a task on one of its ranks. The task progresses as fast as on its slowest rank.
func (s *simulation) pace(a activity, rate float64) {
	t := &s.tasks[a.task]
	if t.local[a.slot] == rate {
		return
	}
	t.local[a.slot] = rate
	if rate = slices.Min(t.local); rate == t.rate {
		return
	}
	t.left -= (s.now - t.since) * t.rate
	t.since, t.rate = s.now, rate
	t.version++
	if rate > 0 {
		s.queue.push(event{s.now + max(0, t.left)/rate, a.task, t.version})
	}
}

// stuck returns an error that names a task that never began.
func (s *simulation) stuck() error {
	for i := range s.tasks {
		if t := &s.tasks[i]; t.version == 0 && t.stmt != nil {
			return fmt.Errorf("%s: %s never ends on rank %d", t.stmt.Meta().Pos, s.nameOf(t.stmt), t.ranks[0])
		}
	}
	return fmt.Errorf("%d calls never end", s.left)
}

// event is a time at which a task begins or ends. It is valid while the task has the same version.
type event struct {
	time    float64
	task    int32
	version int32
}

// eventQueue returns events in order of time, then of task. It is a binary heap.
type eventQueue []event

func (a event) before(b event) bool {
	return a.time < b.time || a.time == b.time && a.task < b.task
}

func (q *eventQueue) push(e event) {
	if math.IsNaN(e.time) {
		panic("cost: a time is no number")
	}
	*q = append(*q, e)
	h := *q
	for i := len(h) - 1; i > 0 && h[i].before(h[(i-1)/2]); i = (i - 1) / 2 {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
	}
}

func (q *eventQueue) pop() event {
	h := *q
	first, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	*q = h
	for i := 0; ; {
		child := 2*i + 1
		if child+1 < last && h[child+1].before(h[child]) {
			child++
		}
		if child >= last || !h[child].before(h[i]) {
			return first
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
