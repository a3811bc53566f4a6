package shard

import (
	"container/heap"
	"sort"
)

// queue holds numbers, each at most once, and returns the smallest first.
type queue struct {
	sort.IntSlice              // a heap of the numbers in the queue
	waits         map[int]bool // the same numbers, to find duplicates
}

func newQueue() *queue { return &queue{waits: map[int]bool{}} }

func (q *queue) empty() bool { return q.Len() == 0 }

// add adds n, unless the queue already holds it.
func (q *queue) add(n int) {
	if !q.waits[n] {
		q.waits[n] = true
		heap.Push(q, n)
	}
}

func (q *queue) next() int {
	n, _ := heap.Pop(q).(int)
	delete(q.waits, n)
	return n
}

// Push adds a number to the end, for package heap.
func (q *queue) Push(n any) {
	number, _ := n.(int)
	q.IntSlice = append(q.IntSlice, number)
}

// Pop removes the last number, for package heap.
func (q *queue) Pop() any {
	last := q.Len() - 1
	n := q.IntSlice[last]
	q.IntSlice = q.IntSlice[:last]
	return n
}
