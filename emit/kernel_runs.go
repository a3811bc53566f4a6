package emit

import (
	"math"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// A kernelView is a kernel of the program, and how it processes its rows.
type kernelView struct {
	*calls.Kernel
	Run    *runOfRows // nil: it processes rows one by one
	Wide   bool       // some launch has more rows than int32 counts: see isWide
	Turned int        // number of the operand that it transposes; 0: none, see turnedBy
}

// isWide reports whether a launch of a kernel has more rows than int32 counts. For a kernel without rows, it counts the
// tiles into which the launch divides the elements.
func isWide(k *calls.Kernel, l *calls.Launch, values calls.Values) bool {
	const tile = 256 // the smallest number of elements of a tile
	rows := 1.0
	for _, extent := range append(slices.Clone(l.Out.Extents), l.Elements) {
		if extent != nil {
			n, _ := values.Eval(extent)
			rows *= float64(n)
		}
	}
	if !k.Views && k.Columns == 0 {
		rows /= tile
	}
	return rows > math.MaxInt32
}

// FoldsColumns reports whether the body of a kernel returns the contribution of a row to a reduction over rows.
func (k kernelView) FoldsColumns() bool {
	_, folds := k.Steps().FoldsColumns()
	return folds
}

// given returns the index of the first operand that is a member of the kernel's body. A body that returns its result
// does not write it, so operand 0 is no member.
func (k kernelView) given() int {
	if k.FoldsColumns() {
		return 1
	}
	return 0
}

// Result returns the return type of the body of a kernel: "auto" or "void".
func (k kernelView) Result() string {
	if k.FoldsColumns() {
		return "auto"
	}
	return "void"
}

// A runOfRows is a run of adjacent rows along an axis that share operands. The kernel computes values that depend only
// on shared operands once for the run. For example, the heads of a token share the angles of a rotary embedding.
type runOfRows struct {
	Axis  int    // index of the rows' axis, from 0
	Alike []bool // for each operand that is read: whether it is the same for all rows along the axis
}

// Given returns the parameter type of the body of a kernel: "Run" or "Row".
func (k kernelView) Given() string {
	if k.Run != nil {
		return "Run"
	}
	return "Row"
}

// runOf finds the axis of rows along which the largest number of expensive steps keep their values in all launches of a
// kernel. Of equal axes it takes the innermost one. It returns nil if no expensive step keeps its value, if the kernel
// has no launches or takes no views, or if a result has one element for each row. It also returns nil if the kernel
// reduces rows or columns, because a reduction needs all threads of a row, and if its launches divide rows into parts.
func runOf(k *calls.Kernel, launches []*calls.Launch) *runOfRows {
	steps := k.Steps()
	if _, columns := steps.FoldsColumns(); columns || k.InParts() {
		return nil
	}
	if !k.Views || len(launches) == 0 || slices.Contains(k.Uses[:k.Results], calls.ForRow) ||
		slices.ContainsFunc(steps, domain.Step.NeedsRow) {
		return nil
	}
	var best *runOfRows
	most := 0
	for axis := int(k.Axes) - 1; axis >= 0; axis-- {
		run := &runOfRows{Axis: axis}
		for i := int(k.Results); i < len(k.Operands); i++ {
			run.Alike = append(run.Alike, !slices.ContainsFunc(launches, func(l *calls.Launch) bool {
				return !hasZeroStride(l.In[i-1].Strides, axis)
			}))
		}
		if saved := run.saved(steps); saved > most {
			best, most = run, saved
		}
	}
	return best
}

// saved counts the expensive steps that depend only on operands that the rows share.
func (r *runOfRows) saved(steps domain.Body) int {
	saved, alike := 0, slices.Clone(r.Alike)
	for _, s := range steps {
		same := !slices.ContainsFunc(s.Args, func(at int) bool { return !alike[at] })
		if same && isExpensive(s) {
			saved++
		}
		alike = append(alike, same)
	}
	return saved
}

// hasZeroStride reports whether an operand has stride 0 along an axis.
func hasZeroStride(strides []expr.Expr, axis int) bool {
	return axis < len(strides) && strides[axis].String() == "0"
}

// launchesOf returns the launches of each kernel of the variants of a program, by the kernel's name.
func launchesOf(variants []*programView) map[string][]*calls.Launch {
	launches := map[string][]*calls.Launch{}
	for _, v := range variants {
		for l := range calls.Each[*calls.Launch](v.Body) {
			launches[l.Kernel] = append(launches[l.Kernel], l)
		}
	}
	return launches
}
