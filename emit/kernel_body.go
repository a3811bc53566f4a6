package emit

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// readOf maps the use of an operand to the method that reads it in a row.
var readOf = map[string]string{
	calls.ForElement: "load", calls.ForColumn: "along", calls.ForRow: "value", calls.ForSeed: "seed", calls.ForAll: "single",
}

// kernelBody prints the computation of a row of the results as lines of C++. It reads an operand once even if several
// steps use it, and evaluates an expensive step once. For a run of rows, it first prints the values that all rows share.
func kernelBody(k kernelView) ([]string, error) {
	b := newBodyPrinter(k)
	for i, name := range k.Operands[k.Results:] {
		b.read(i, name)
	}
	for i, s := range b.steps {
		if err := b.step(i, s); err != nil {
			return nil, err
		}
	}
	if k.Run == nil {
		return b.row, nil
	}
	each := []string{"run.each([&](const auto& row) {"}
	for _, line := range b.row {
		each = append(each, "  "+line)
	}
	return slices.Concat(b.once, each, []string{"});"}), nil
}

// A bodyPrinter prints the body of a kernel. Its values are the operands that the body reads, then the steps.
type bodyPrinter struct {
	k         kernelView
	steps     domain.Body
	readers   []int    // how often steps read each value
	readInRow []bool   // whether a step whose value differs from row to row reads the value
	alike     []bool   // whether all rows of a run have the same value
	wide      []bool   // whether the value has an element for each column
	long      []bool   // whether it is expensive to compute the value each time that a step reads it
	values    []string // each value as an expression of C++
	once, row []string // lines of code: once for a run, and for each row
}

func newBodyPrinter(k kernelView) *bodyPrinter {
	b := &bodyPrinter{k: k, steps: k.Steps()}
	operands := len(k.Operands) - int(k.Results)
	for _, use := range k.Uses[k.Results:] {
		b.wide = append(b.wide, use == calls.ForElement || use == calls.ForColumn)
	}
	b.wide, b.readers = b.steps.Rows(b.wide), readersOf(b.steps, operands)
	b.long, b.readInRow, b.alike = make([]bool, len(b.wide)), make([]bool, len(b.wide)), make([]bool, operands)
	if k.Run != nil {
		copy(b.alike, k.Run.Alike)
	}
	for _, s := range b.steps {
		same := !slices.ContainsFunc(s.Args, func(at int) bool { return !b.alike[at] })
		b.alike = append(b.alike, same)
		for _, at := range s.Args {
			b.readInRow[at] = b.readInRow[at] || !same
		}
	}
	return b
}

// read adds the value of operand i, in a variable if steps read it several times or if it is shared.
func (b *bodyPrinter) read(i int, name string) {
	value := fmt.Sprintf("%s.%s(%s)", b.given(i), readOf[b.k.Uses[int(b.k.Results)+i]], name)
	if b.readers[i] > 1 || b.shared(i) {
		b.line(i, "const auto %s_row = %s;", name, value)
		value = name + "_row"
	}
	b.values = append(b.values, value)
}

// shared reports whether all rows of a run share a value, and steps that differ from row to row read it.
func (b *bodyPrinter) shared(at int) bool { return b.alike[at] && b.readInRow[at] }

// given returns the name of the object that reads and keeps value at: "run" if all rows of a run share the value, else
// "row".
func (b *bodyPrinter) given(at int) string {
	if b.alike[at] {
		return "run"
	}
	return "row"
}

// line adds a line to the code for a run if all rows share value at, and otherwise to the code for each row.
func (b *bodyPrinter) line(at int, format string, args ...any) {
	lines := &b.row
	if b.alike[at] {
		lines = &b.once
	}
	*lines = append(*lines, fmt.Sprintf(format, args...))
}

// step adds the value of step i, and stores the value if it is a result.
func (b *bodyPrinter) step(i int, s domain.Step) error {
	args := lists.Map(s.Args, func(at int) string { return b.values[at] })
	value, err := stepOf(s, args, b.k.Columns)
	if err != nil {
		return err
	}
	value += b.epsilon(i)
	at := len(b.readers) - len(b.steps) + i
	result, readers := slices.Index(b.k.Operands[:b.k.Results], s.Name), b.readers[at]
	uses := readers
	if result >= 0 {
		uses++
	}
	b.long[at] = b.wide[at] && (isExpensive(s) || slices.ContainsFunc(s.Args, func(a int) bool { return b.long[a] }))
	if b.long[at] && (uses > 1 || b.shared(at)) {
		value, b.long[at] = b.given(at)+".keep("+value+")", false
	}
	name := s.Name
	if result >= 0 {
		name += "_row"
	}
	if b.isFolded(i) && readers == 1 && result < 0 {
		name = value // the body returns it directly
	} else if readers > 0 {
		b.line(at, "const auto %s = %s;", name, value)
		value = name
	}
	if _, folds := s.FoldsColumns(); folds {
		b.row = append(b.row, "return "+value+";")
	} else if result >= 0 {
		store := "row.store("
		switch b.k.Uses[result] {
		case calls.ForRow:
			store = "row.put("
		case calls.ForBlock:
			store = fmt.Sprintf("fn::put_blocks<%d>(row, ", b.steps.Block())
		}
		b.row = append(b.row, store+s.Name+", "+value+");")
	}
	b.values = append(b.values, name)
	return nil
}

// epsilon returns the comment on the constant that a norm adds before a reciprocal root, and an empty text for other steps.
func (b *bodyPrinter) epsilon(i int) string {
	name, constant := domain.SplitFn(b.steps[i].Fn)
	if name != "shift" || i+1 == len(b.steps) || b.steps[i+1].Fn != "rsqrt" {
		return ""
	}
	if constant == "1e-05" {
		return " /* eps, the default of the operation */"
	}
	return " /* eps */"
}

// isFolded reports whether a step computes the operand of a reduction over rows.
func (b *bodyPrinter) isFolded(i int) bool {
	last := len(b.steps) - 1
	_, folds := b.steps.FoldsColumns()
	return folds && i < last && b.steps[last].Args[0] == len(b.readers)-len(b.steps)+i
}

// readersOf counts how often the steps read each operand, and then how often they read each step.
func readersOf(steps domain.Body, operands int) []int {
	readers := make([]int, operands+len(steps))
	for _, s := range steps {
		for _, at := range s.Args {
			readers[at]++
		}
	}
	return readers
}
