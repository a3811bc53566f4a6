// Package tasks runs the tasks of all ranks in an order that streams and dependencies allow. Interpreters of programs
// define each task and its predecessors. A seed picks one of the possible orders, so that a missing dependency shows as
// wrong data for some seed.
package tasks

// A Task is a piece of work on a stream of one rank, or a communication of several ranks (Rank -1). A task from Issue
// runs in the order of its stream, and a task from Add does not.
type Task struct {
	Rank int
	What any // description for reports; nil if reports omit it

	number int // index in the set
	stream *Stream
	run    func() error // nil: the task only orders other tasks
	before int          // number of tasks that it waits for, plus the number of calls of Block
	after  []*Task      // tasks that wait for this one
	done   bool         // whether the last Run ran it
}

// A Stream is a queue of issued tasks, which run in their order.
type Stream struct {
	Name string
	last *Task
}

// Last returns the task issued last to a stream, or nil.
func (s *Stream) Last() *Task { return s.last }

// Set holds the tasks of all ranks.
type Set struct{ tasks []*Task }

// Add makes a task that neither waits for earlier tasks of a stream nor delays later ones. Run takes the task's priority
// from the stream if the seed is odd. A task with a nil run only orders other tasks.
func (s *Set) Add(rank int, what any, on *Stream, run func() error) *Task {
	t := &Task{Rank: rank, What: what, number: len(s.tasks), stream: on, run: run}
	s.tasks = append(s.tasks, t)
	return t
}

// Issue appends a task to a stream. The task runs after the stream's last task and after the given tasks, except nil
// ones.
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

// Block keeps t from ever running. It stands for a wait for an event that never occurs.
func (t *Task) Block() { t.before++ }

// Tasks returns all tasks in the order in which they were added.
func (s *Set) Tasks() []*Task { return s.tasks }

// Follows returns the direct predecessors of each task, as indices in the list of all tasks. all is false if Block was
// called for a task.
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

// Stuck returns the first task of a rank that the last Run did not run, among the tasks with a description. It returns nil
// if there is none.
func (s *Set) Stuck(rank int) *Task {
	for _, t := range s.tasks {
		if t.Rank == rank && !t.done && t.What != nil {
			return t
		}
	}
	return nil
}
