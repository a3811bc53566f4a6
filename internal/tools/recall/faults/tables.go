package faults

import (
	_ "embed"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// TableFault is a mistake in a table that the lowering, the interpreters and the prover all read: the operands of
// statements (calls/effects) or the rows of collectives (calls/collective). All these readers then make the same
// mistake.
type TableFault struct {
	Table   string // "Gemm", a statement; "Allgather", a collective
	Mistake string
	Example string   // a spec below testdata where it has an effect
	Change  string   // a verb with numbers, as alter reads them, or a field of collective.Form
	FoundBy []string // judges that find it: lowering, results, proof, values, log, run
}

//go:embed tables.tsv
var tables string

// Tables lists the mistakes in tables.
func Tables() (list []*TableFault) {
	for line := range strings.Lines(tables) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		list = append(list, &TableFault{f[0], f[1], f[2], f[3], strings.Split(f[4], ", ")})
	}
	return list[1:] // the first line has titles
}

// Seed makes the mistake, for all readers, until undo is called. No other goroutine may use the tables meanwhile.
func (f *TableFault) Seed() (undo func()) {
	row := collective.Type(f.Table).Row()
	if row == nil {
		effects.Alter = f.alter
		return func() { effects.Alter = nil }
	}
	right := *row
	field := reflect.ValueOf(&row.Form).Elem().FieldByName(f.Change)
	field.SetBool(!field.Bool())
	return func() { *row = right }
}

// alter applies Change to one operand of a statement of Table. Change is a verb and numbers: the number of the operand,
// then an axis or, for align, a factor, then the last argument of swap and stride.
func (f *TableFault) alter(s calls.Stmt, list []effects.Operand) (out []effects.Operand) {
	change := strings.Fields(f.Change)
	n := make([]int64, 4)
	for i, text := range change[1:] {
		n[i], _ = strconv.ParseInt(text, 10, 64)
	}
	for _, o := range list {
		axis := n[1]
		if calls.Op(s) != f.Table || int64(o.Number) != n[0] || axis >= int64(max(len(o.Extents), 1)) {
			out = append(out, o)
			continue
		}
		o.Extents, o.Strides = slices.Clone(o.Extents), slices.Clone(o.Strides)
		switch change[0] {
		case "lose":
			continue
		case "read", "write":
			o.Write = change[0] == "write"
		case "swap": // the strides of two axes: the second and the third number
			o.Strides[axis], o.Strides[n[2]] = o.Strides[n[2]], o.Strides[axis]
		case "stride": // the stride plus one, times the third number, which is 1 or 0
			o.Strides[axis] = expr.Op("*", expr.Int(n[2]), expr.Op("+", o.Strides[axis], expr.Int(1)))
		case "extent": // one less
			o.Extents[axis] = expr.Op("-", o.Extents[axis], expr.Int(1))
		case "move": // moves the operand by one element
			o.At.Offset = expr.Sum(o.At.Offset, expr.Int(1))
		case "type": // takes the type of the second operand in the list
			o.Type = list[1].Type
		case "align":
			o.Align = max(o.Align*axis, 1)
		}
		out = append(out, o)
	}
	return out
}
