package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// reading is one interpretation of queries with one more leading axis than the keys: the axis splits either the heads
// or the rows. heads and rows are the numbers of heads and rows after the axis is merged into them. Without such an axis,
// split is empty.
type reading struct {
	split       string
	heads, rows domain.Extent
}

// readings lists the possible interpretations of the queries, the most common one first.
func (in *inference) readings(q int) []reading {
	queries, keys := in.axesOf(q), in.axesOf(q+1)
	n := len(queries)
	heads, rows := queries[n-3].Extent, queries[n-2].Extent
	if n == len(keys) {
		return []reading{{"", heads, rows}}
	}
	merged := func(e domain.Extent) domain.Extent { return domain.Extent{Size: queries[0].Size * e.Size} }
	return []reading{{domain.SplitHeads, merged(heads), rows}, {domain.SplitRows, heads, merged(rows)}}
}

// split returns which axis the additional leading axis of the queries splits, or "" without such an axis. If both
// readings fit, the author must choose, because their results differ. It returns false after it has reported an error.
func (in *inference) split(q int, a domain.Attention) (string, bool) {
	list, attr := in.readings(q), in.src.attr("split")
	if attr != nil {
		value := attr.values[0].value
		list = slices.DeleteFunc(list, func(r reading) bool { return r.split != value })
		switch {
		case attr.list || !slices.Contains(domain.Splits, value):
			in.a.list.Add(attr.name.pos, diag.BadAttribute, "split is %s", strings.Join(domain.Splits, " or "))
			return "", false
		case len(list) == 0:
			in.a.list.Add(attr.name.pos, diag.BadAttribute,
				"split says what an axis counts that the queries have more in front than the keys, and %s has none", in.op.In[q].Name).
				WithHint("leave it out")
			return "", false
		}
	}
	fitting := lists.Except(list, func(r reading) bool { return in.refuseReading(q, a, r) != nil })
	switch {
	case len(fitting) == 0:
		in.a.list.Append(in.refuseReading(q, a, list[0]))
		return "", false
	case len(fitting) > 1 && in.axesOf(q)[0].Size > 1: // one block is all heads and all rows
		in.ambiguous(q, fitting)
		return "", false
	}
	a.Split = fitting[0].split
	if s := a.Shape(domain.Shape(in.axesOf(q)), domain.Shape(in.axesOf(q+1))); !s.InBlocks() {
		in.misfits(q, diag.ShapeMismatch, "each of %s blocks of %s has %d query heads, and %d query heads share a key head: a block has neither "+
			"whole key heads nor a part of one",
			withValue(in.axesOf(q)[0].Extent), in.op.In[q].Name, s.QueryHeads, s.Share)
		return "", false
	}
	return a.Split, true
}

// refuseReading returns the reason why a reading is not possible, or nil if it is.
func (in *inference) refuseReading(q int, a domain.Attention, r reading) *diag.Diagnostic {
	queries, keys := in.op.In[q], in.op.In[q+1]
	axes := in.axesOf(q + 1)
	n := len(axes)
	var list diag.List
	switch {
	case r.heads.Size%axes[n-3].Size != 0:
		list.Add(in.src.args[q+1].pos, diag.ShapeMismatch, "%s query heads of %s do not share %s key heads of %s in equal parts",
			withValue(r.heads), queries.Name, withValue(axes[n-3].Extent), keys.Name)
	case a.Causal && r.rows.Size > axes[n-2].Size:
		list.Add(in.src.attr("causal").name.pos, diag.BadAttribute,
			"a causal attention has no more queries than keys, and %s has %d rows for the %s of %s",
			queries.Name, r.rows.Size, withValue(axes[n-2].Extent), keys.Name)
	default:
		return nil
	}
	return list.Items()[0]
}

// ambiguous reports queries that can be read in several ways, and how to write each.
func (in *inference) ambiguous(q int, ways []reading) {
	Q, pos := in.op.In[q], in.src.args[q].pos
	d := in.a.list.Add(pos, diag.AmbiguousSplit, "axis 0 of %s, of %s, may split its heads or its rows, and the results differ", Q.Name,
		withValue(in.axesOf(q)[0].Extent)).
		WithHint("say which with the attribute split")
	for _, r := range ways {
		d.AddNote(pos, "%d heads of %d rows each: %s", r.heads.Size, r.rows.Size, in.src.spelled("split="+r.split))
	}
}

// spelled prints an operation as a spec writes it, with more attributes.
func (o *sourceOp) spelled(more ...string) string {
	arguments := lists.Map(o.args, func(t text) string { return t.value })
	for _, attr := range o.attrs {
		value := words(attr.values)
		if attr.list {
			value = "[" + value + "]"
		}
		arguments = append(arguments, attr.name.value+"="+value)
	}
	return fmt.Sprintf("%s = %s(%s)", words(o.results()), o.fn.value, strings.Join(append(arguments, more...), ", "))
}
