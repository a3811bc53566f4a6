package model

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/model/domain"
)

// What an axis of ranks in front of rows is, for operations that depend on the position of a row.
const splitBatches = "batches" // an axis of its own: each rank counts its rows from 0

// SplitWords lists what the attribute split may say.
var SplitWords = []string{domain.SplitHeads, domain.SplitRows, splitBatches}

// countsRows finds out how the rows along an axis are counted. The axis in front of them may be split over ranks: it is then a
// part of the rows, or an axis of its own, which the author has to say where there are as many rows as that takes.
func (e *expansion) countsRows(axis int, most int64) bool {
	axes, attr := e.axesOf(0), e.src.attr("split")
	fits := axis > 0 && axes[axis-1].Extent.Size <= most/axes[axis].Extent.Size
	known := []string{domain.SplitRows, splitBatches}
	switch {
	case attr != nil && (attr.list || !slices.Contains(known, attr.values[0].value)):
		e.a.list.Add(attr.name.pos, diag.BadAttribute, "split is %s", strings.Join(known, " or "))
		return false
	case attr != nil && attr.values[0].value == domain.SplitRows && !fits:
		e.a.list.Add(attr.name.pos, diag.BadAttribute, "the axis in front of axis %d of %s does not split it: there is none, or there are more rows then than columns", axis, e.op.In[0].Name)
		return false
	case attr == nil && fits && axes[axis-1].Kind == domain.Device && axes[axis-1].Extent.Size > 1:
		pos := e.src.args[0].pos
		e.a.list.Add(pos, diag.AmbiguousSplit, "axis %d of %s, over ranks, may split the rows of axis %d, and the results differ", axis-1, e.op.In[0].Name, axis).
			WithHint("say with the attribute split whether it does").
			AddNote(pos, "rows are counted from rank to rank: %s", e.src.with("split", domain.SplitRows)).
			AddNote(pos, "each rank counts its rows from 0: %s", e.src.with("split", splitBatches))
		return false
	}
	e.blocks = attr != nil && attr.values[0].value == domain.SplitRows
	return true
}

// rowsAlong gives the positions of rows along an axis of x, and how many axes these have: two where the one in front counts blocks of rows.
func (e *expansion) rowsAlong(name, x string, axis int) (positions string, own int) {
	positions = e.step(name, "positions", []string{x}, "axis", strconv.Itoa(axis))
	if !e.blocks {
		return positions, 1
	}
	block := e.step(name+"_block", "positions", []string{x}, "axis", strconv.Itoa(axis-1))
	first := e.step(name+"_first", "scale", []string{block}, "by", formatFloat(float64(e.axesOf(0)[axis].Extent.Size)))
	first = e.step(name+"_first_b", "broadcast", []string{first}, "axis", "1")
	return e.step(name+"_all", "add", []string{first, positions}), 2
}
