package schedules

import "github.com/hirgen/hirgen/model/schedule"

// This file exports the table of measurements to tests that lower whole specs.

// Problem is an operation with its size on one GPU.
type Problem struct {
	Operation      string
	Ranks, M, N, K int64
}

// Params returns the parameters with which the operation's spec has the problem's size on one GPU.
func (p Problem) Params() map[string]int64 {
	params := map[string]int64{"D": p.Ranks, "M": p.M, "N": p.N, "K": p.K}
	switch p.Operation {
	case "allgather":
		delete(params, "N")
	case "matmul_rs", "matmul_ar":
		params["K"] *= p.Ranks
	}
	return params
}

// Line is one measurement of the table.
type Line struct {
	Problem
	Text     string // the problem as text, with which the reason in a program begins
	Choices  []schedule.Choice
	Schedule string
}

// Lines returns all measurements of the table.
func Lines() []Line {
	var list []Line
	for _, m := range measured {
		list = append(list, m.line())
	}
	return list
}

func (m measurement) line() Line {
	return Line{Problem{m.operation, m.ranks, m.m, m.n, m.k}, m.String(), m.choices, m.schedule}
}

// Nearest returns the measurement that is nearest to a problem in bf16, or false if there is none for its operation.
func Nearest(p Problem) (Line, bool) {
	m := nearest(measured, problem{operation: p.Operation, dtype: "bf16", ranks: p.Ranks, m: p.M, n: p.N, k: p.K}, schedule.Schedule{})
	if m == nil {
		return Line{}, false
	}
	return m.line(), true
}

// Operations returns the names of the measured operations, by their steps.
func Operations() map[string]string { return operations }
