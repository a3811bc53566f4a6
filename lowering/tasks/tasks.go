// Package tasks runs what ranks have issued to their streams, in any order that streams and
// dependencies allow. Interpreters say what a task does and which others it follows; a seed picks
// one of all orders that this leaves, so that an order that is missing shows as wrong data for some
// seed.
package tasks

// A Task is a piece of work on one stream of one rank.
type Task struct {
	Rank int
	What any // what it is, for reports; nil for what is of no interest there

	number int
	stream *Stream
	run    func() error
	before int // tasks that have to run first
	after  []*Task
	done   bool
}

// A Stream is a queue of one rank.
type Stream struct {
	Name string
	last *Task
}

// Last is the task that was issued last to a stream; nil if there is none.
func (s *Stream) Last() *Task { return s.last }

// Set holds the tasks of all ranks.
type Set struct{ tasks []*Task }

// Add makes a task that runs beside a stream: nothing on it goes before the task. A task without run
// only orders others.
func (s *Set) Add(rank int, what any, on *Stream, run func() error) *Task {
	t := &Task{Rank: rank, What: what, number: len(s.tasks), stream: on, run: run}
	s.tasks = append(s.tasks, t)
	return t
}

// Issue appends a task to a stream; it also runs after other ones. A task that is nil is no task.
func (s *Set) Issue(rank int, what any, on *Stream, run func() error, after ...*Task) *Task {
	t := s.Add(rank, what, on, run)
	t.Follow(on.last)
	for _, other := range after {
		t.Follow(other)
	}
	on.last = t
	return t
}

// Follow makes t run after other, if there is one.
func (t *Task) Follow(other *Task) {
	if other != nil {
		other.after = append(other.after, t)
		t.before++
	}
}

// Block keeps t from ever running: what it waits for does not come.
func (t *Task) Block() { t.before++ }

// Tasks lists all, in the order in which they were added.
func (s *Set) Tasks() []*Task { return s.tasks }

// Follows gives for each task those that it follows, by their places in the list of all. It reports whether each
// task can run once these have.
func (s *Set) Follows() (list [][]int, all bool) {
	list, all = make([][]int, len(s.tasks)), true
	for i, t := range s.tasks {
		for _, next := range t.after {
			list[next.number] = append(list[next.number], i)
		}
	}
	for i, t := range s.tasks {
		all = all && t.before == len(list[i])
	}
	return list, all
}

// Stuck is the first task of a rank, of those that are something, that has not run.
func (s *Set) Stuck(rank int) *Task {
	for _, t := range s.tasks {
		if t.Rank == rank && !t.done && t.What != nil {
			return t
		}
	}
	return nil
}
