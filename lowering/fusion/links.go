package fusion

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// links finds the statements of a body that compute and read each tensor. A statement is a reader once for each operand.
type links struct {
	maker   map[*hostir.Tensor]hostir.Stmt
	readers map[*hostir.Tensor][]hostir.Stmt
	place   map[hostir.Stmt]int // indices in the body
}

// linksOf returns the links of a body.
func linksOf(body []hostir.Stmt) *links {
	l := &links{map[*hostir.Tensor]hostir.Stmt{}, map[*hostir.Tensor][]hostir.Stmt{}, map[hostir.Stmt]int{}}
	for i, s := range body {
		l.add(s, i)
	}
	return l
}

// add records a statement and its index in the body.
func (l *links) add(s hostir.Stmt, at int) {
	l.place[s] = at
	for _, t := range hostir.Uses(s) {
		l.readers[t] = append(l.readers[t], s)
	}
	for _, t := range hostir.Defs(s) {
		l.maker[t] = s
	}
}

// remove removes a statement from the readers of its operands.
func (l *links) remove(s hostir.Stmt) {
	for _, t := range hostir.Uses(s) {
		l.readers[t] = slices.DeleteFunc(l.readers[t], func(r hostir.Stmt) bool { return r == s })
	}
}

// separate reports whether the schedule asks for a kernel for each operation.
func separate(p *hostir.Program) bool { return p.Choices.Get(schedule.Kernels) != schedule.Fused }
