package pipeline

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// trim drops first and last iterations of a loop, and of loops inside it, in which nothing runs, because the
// whole body is a branch whose condition is false. The branch may be inside loops that contain nothing else.
//
//	before: For s in D: If s != 0: x
//	after:  For s in 1..D: x
func (j *Projector) trim(loop *hostir.For, around ...*hostir.For) {
	around = append(slices.Clone(around), loop)
	if len(loop.Body) > 1 {
		around = nil
	}
	for i, s := range loop.Body {
		switch s := s.(type) {
		case *hostir.For:
			j.trim(s, around...)
		case *hostir.If:
			if len(around) > 0 && len(s.Else) == 0 && j.leavesOut(s.Cond, around) {
				loop.Body = slices.Concat(loop.Body[:i], s.Body)
			}
		}
	}
}

// leavesOut narrows the loop that a condition depends on to the iterations in which the condition is true. It
// returns false, and changes nothing, if the condition depends on the rank, on no loop or on several, or if it
// has no value in an iteration. It does the same if the iterations in which the condition is true are not
// contiguous, or if there are none.
func (j *Projector) leavesOut(cond expr.Expr, loops []*hostir.For) bool {
	at := -1
	for i, l := range loops {
		if expr.Mentions(cond, l.Var) {
			if at >= 0 {
				return false
			}
			at = i
		}
	}
	if at < 0 || expr.Mentions(cond, "rank") {
		return false
	}
	loop := loops[at]
	first, end, holes := int64(-1), int64(-1), false
	for i := loop.First; i < loop.Count.Size; i++ {
		value, err := expr.Eval(cond, j.at(loop.Var, i))
		if err != nil {
			return false
		}
		if value == 0 {
			continue
		}
		holes = holes || end >= 0 && end != i
		if end = i + 1; first < 0 {
			first = i
		}
	}
	if first < 0 || holes {
		return false
	}
	loop.First = first
	if end < loop.Count.Size {
		loop.Count = j.upTo(cond, loop.Count, end)
	}
	return true
}

// at returns the values of the parameters and of one loop variable, by name.
func (j *Projector) at(variable string, value int64) func(string) (int64, bool) {
	return func(name string) (int64, bool) {
		if name == variable {
			return value, true
		}
		for _, p := range j.program.Params {
			if p.Name == name {
				return p.Value, true
			}
		}
		return 0, false
	}
}

// upTo returns end as the extent of a loop. The extent is spelled as in the condition, or as one less than
// count, or as a number.
func (j *Projector) upTo(cond expr.Expr, count domain.Extent, end int64) domain.Extent {
	if c, ok := cond.(*expr.Binary); ok && c.Op == "!=" {
		if value, err := expr.Eval(c.Y, j.at("", 0)); err == nil && value == end {
			return domain.Extent{Text: expr.Compact(c.Y), Size: end}
		}
	}
	if _, err := expr.Parse(count.Text); err != nil || count.Size-end != 1 {
		return domain.Extent{Size: end}
	}
	return domain.Extent{Text: oneLess(count.Text), Size: end}
}

// oneLess spells a number that is one less than count.
func oneLess(count string) string {
	if shorter, ok := strings.CutSuffix(count, "+1"); ok {
		return shorter
	}
	return count + "-1"
}
