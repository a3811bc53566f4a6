package model

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/domain"
)

// splitBatches is a value of the attribute split: the axis before the rows is a separate axis, and rows count from 0 for
// each of its indices.
const splitBatches = "batches"

// SplitWords lists the values of the attribute split.
var SplitWords = []string{domain.SplitHeads, domain.SplitRows, splitBatches}

// countsRows decides how the rows along an axis are counted. If the axis before the rows is split over ranks, the count
// may continue from rank to rank, or start from 0 on each rank. The author must say which if both are possible. most is
// the largest possible number of rows.
func (e *expansion) countsRows(axis int, most int64) bool {
	axes, attr := e.axesOf(0), e.src.attr("split")
	fits := axis > 0 && axes[axis-1].Size <= most/axes[axis].Size
	known := []string{domain.SplitRows, splitBatches}
	switch {
	case attr != nil && (attr.list || !slices.Contains(known, attr.values[0].value)):
		e.a.list.Add(attr.name.pos, diag.BadAttribute, "split is %s", strings.Join(known, " or "))
		return false
	case attr != nil && attr.values[0].value == domain.SplitRows && !fits:
		e.a.list.Add(attr.name.pos, diag.BadAttribute,
			"the axis in front of axis %d of %s does not split it: there is none, or there are more rows then than columns", axis, e.op.In[0].Name)
		return false
	case attr == nil && fits && axes[axis-1].Kind == domain.Device && axes[axis-1].Size > 1:
		pos := e.src.args[0].pos
		e.a.list.Add(pos, diag.AmbiguousSplit, "axis %d of %s, over ranks, may split the rows of axis %d, and the results differ", axis-1,
			e.op.In[0].Name, axis).
			WithHint("say with the attribute split whether it does").
			AddNote(pos, "rows are counted from rank to rank: %s", e.src.spelled("split="+domain.SplitRows)).
			AddNote(pos, "each rank counts its rows from 0: %s", e.src.spelled("split="+splitBatches))
		return false
	}
	e.blocks = attr != nil && attr.values[0].value == domain.SplitRows
	return true
}

// rowsAlong computes the positions of rows along an axis of x, and returns their name and the number of their axes: two if
// the axis before counts blocks of rows.
func (e *expansion) rowsAlong(name, x string, axis int) (positions string, own int) {
	positions = e.step(name, "positions", []string{x}, "axis", strconv.Itoa(axis))
	if !e.blocks {
		return positions, 1
	}
	block := e.step(name+"_block", "positions", []string{x}, "axis", strconv.Itoa(axis-1))
	first := e.step(name+"_first", "scale", []string{block}, "by", formatFloat(float64(e.axesOf(0)[axis].Size)))
	first = e.step(name+"_first_b", "broadcast", []string{first}, "axis", "1")
	return e.step(name+"_all", "add", []string{first, positions}), 2
}
