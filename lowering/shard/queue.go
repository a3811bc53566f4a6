package shard

import (
	"container/heap"
	"sort"
)

// queue gives out numbers, the smallest first, each once until it is added again.
type queue struct {
	sort.IntSlice // a heap of those that wait
	waits         map[int]bool
}

func newQueue() *queue { return &queue{waits: map[int]bool{}} }

func (q *queue) empty() bool { return q.Len() == 0 }

// add does nothing for a number that waits already.
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

// Pop takes from the end, for package heap.
func (q *queue) Pop() any {
	last := q.Len() - 1
	n := q.IntSlice[last]
	q.IntSlice = q.IntSlice[:last]
	return n
}
