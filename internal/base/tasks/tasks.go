// Package tasks runs the tasks of all ranks in any order that streams and dependencies allow. Interpreters define each
// task and its predecessors. A seed picks one of the remaining orders, so that a missing dependency shows as wrong data
// for some seed.
package tasks

// A Task is a piece of work on one stream of one rank.
type Task struct {
	Rank int
	What any // description for reports; nil if reports omit it

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

// Last returns the task issued last to a stream, or nil.
func (s *Stream) Last() *Task { return s.last }

// Set holds the tasks of all ranks.
type Set struct{ tasks []*Task }

// Add makes a task of a stream that does not wait for the stream's earlier tasks. A task without run only orders other
// tasks.
func (s *Set) Add(rank int, what any, on *Stream, run func() error) *Task {
	t := &Task{Rank: rank, What: what, number: len(s.tasks), stream: on, run: run}
	s.tasks = append(s.tasks, t)
	return t
}

// Issue appends a task to a stream. The task also runs after the given tasks, except nil ones.
func (s *Set) Issue(rank int, what any, on *Stream, run func() error, after ...*Task) *Task {
	t := s.Add(rank, what, on, run)
	t.Follow(on.last)
	for _, other := range after {
		t.Follow(other)
	}
	on.last = t
	return t
}

// Follow makes t run after other, unless other is nil.
func (t *Task) Follow(other *Task) {
	if other != nil {
		other.after = append(other.after, t)
		t.before++
	}
}

// Block keeps t from ever running, because an event that it waits for never occurs.
func (t *Task) Block() { t.before++ }

// Tasks returns all tasks in the order in which they were added.
func (s *Set) Tasks() []*Task { return s.tasks }

// Follows returns the predecessors of each task, by their indices in the list of all tasks. all reports whether every
// task can run after its predecessors.
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

// Stuck returns the first task of a rank that has not run, among the tasks with a description. It returns nil if there
// is none.
func (s *Set) Stuck(rank int) *Task {
	for _, t := range s.tasks {
		if t.Rank == rank && !t.done && t.What != nil {
			return t
		}
	}
	return nil
}
