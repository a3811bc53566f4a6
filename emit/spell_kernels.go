package emit

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/names"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// These functions print the program's generated kernels in C++.

// kernelTypes returns the types of the operands of a kernel.
func kernelTypes(k *calls.Kernel) []string {
	types := make([]string, len(k.Types))
	for i, t := range k.Types {
		element := alias(domain.DType(t))
		if int64(i) >= k.Results {
			element = "const " + element
		}
		switch {
		case t == calls.InPositions:
			types[i] = fmt.Sprintf("hirgen::Counted<%d>", k.Axes)
		case k.Views:
			types[i] = fmt.Sprintf("hirgen::Scattered<%s, %d>", element, k.Axes)
		default:
			types[i] = element + "*"
		}
	}
	return types
}

// kernelMembers declares the operands of a kernel as members of the kernel's body, from the operand k.given() on.
func kernelMembers(k kernelView) []string {
	members := kernelTypes(k.Kernel)
	for i, name := range k.Operands {
		members[i] += " " + name + ";"
	}
	return members[k.given():]
}

// kernelParams prints the parameters of the function that launches a kernel.
func kernelParams(k kernelView) string {
	params := kernelTypes(k.Kernel)
	for i, name := range k.Operands {
		params[i] += " " + name
	}
	count := "int64_t elements"
	switch {
	case k.Views:
		count = "std::initializer_list<int64_t> rows"
	case k.Columns > 0:
		count = "int64_t rows"
	}
	params = append(params, count)
	if k.Arrives != nil {
		params = append(params, "const hirgen::RowExchange& parts")
	}
	return strings.Join(append(params, "cudaStream_t stream", "const char* where"), ", ")
}

// kernelLaunch prints the statement that launches a kernel.
func kernelLaunch(k kernelView) string {
	fold, folds := k.Steps().FoldsColumns()
	class := names.ClassName(k.Name)
	body, columns := class+braces(k.Operands[k.given():]...), class+"::kColumns"
	var long []string // operands in memory with an element for each column, except a result that the body returns
	for i, use := range k.Uses {
		if (i > 0 || !folds) && (use == calls.ForElement || use == calls.ForColumn) && k.Types[i] != calls.InPositions {
			long = append(long, k.Operands[i])
		}
	}
	accesses := "hirgen::accesses(" + strings.Join(long, ", ") + ")"
	if slices.Contains(k.Uses, calls.ForSeed) {
		accesses += ".few()" // random numbers take registers, so issue fewer reads at once
	}
	if k.Wide {
		accesses += ".wide()"
	}
	switch {
	case folds && k.Views:
		return fmt.Sprintf("hirgen::launch_columns<hirgen::ReduceFn::%s, %d>(%s, %s, %s, rows, %s, stream, where)", domain.Enumerator(fold),
			k.Axes, k.Operands[0], body, columns, accesses)
	case folds:
		return fmt.Sprintf("hirgen::launch_columns<hirgen::ReduceFn::%s>(%s, %s, %s, {rows}, %s, stream, where)", domain.Enumerator(fold),
			k.Operands[0], body, columns, accesses)
	case k.Columns == 0:
		return fmt.Sprintf("hirgen::launch_elements(%s, elements, %s, stream, where)", body, accesses)
	case k.Turned > 0:
		return fmt.Sprintf("hirgen::launch_turned<%s>(%s, %s, %s, rows, stream, where)", columns, body, k.Operands[0], k.Operands[k.Turned])
	case k.Run != nil:
		return fmt.Sprintf("hirgen::launch_rows<%s, %d, %d>(%s, rows, %s, stream, where)", columns, k.Axes, k.Run.Axis, body, accesses)
	case k.Views:
		return fmt.Sprintf("hirgen::%s<%s, %d>(%s, rows, %s, stream, where)", launchOf(k), columns, k.Axes, body, accesses)
	case k.Arrives != nil:
		second := lists.Map(k.Operands, func(name string) string {
			if slices.Contains(k.Arrives, name) {
				return "parts.second(" + name + ")"
			}
			return name
		})
		return fmt.Sprintf("hirgen::%s<%s>(%s, {rows}, %s, stream, where, parts.rows(%s))", launchOf(k), columns, body, accesses,
			class+braces(second...))
	default:
		return fmt.Sprintf("hirgen::%s<%s>(%s, {rows}, %s, stream, where)", launchOf(k), columns, body, accesses)
	}
}

// launchOf returns the function that launches a kernel on whole rows, or on parts of rows if the kernel allows it.
func launchOf(k kernelView) string {
	if k.NeedsRow() {
		return "launch_rows"
	}
	return "launch_parts"
}

// isExpensive reports whether a step takes more than a few instructions for an element. Reductions and functions of two
// operands except dropout do not.
func isExpensive(s domain.Step) bool {
	if _, drops := domain.DropoutOf(s.Fn); drops {
		return true
	}
	_, columns := s.FoldsColumns()
	return len(s.Args) == 1 && !columns && !s.NeedsRow() && !s.Light()
}

// stepOf prints the expression of a step with operands args. columns is the number of columns of the kernel's rows.
func stepOf(s domain.Step, args []string, columns int64) (string, error) {
	name, constant := domain.SplitFn(s.Fn)
	if _, columns := s.FoldsColumns(); columns {
		return args[0], nil // the launch reduces it
	}
	if fn, block, ok := s.FoldsBlocks(); ok {
		return fmt.Sprintf("fn::%s_blocks<%d>(row, %s)", fn, block, args[0]), nil
	}
	if s.Folds() {
		return fmt.Sprintf("fn::%s(row, %s)", name, args[0]), nil
	}
	if d, drops := domain.DropoutOf(s.Fn); drops {
		return "fn::dropout(" + strings.Join(append(args, dropoutLiteral(d)), ", ") + ")", nil
	}
	if t, casts := domain.CastOf(s.Fn); casts {
		return fmt.Sprintf("fn::cast<%s>(%s)", alias(t), args[0]), nil
	}
	if constant != "" {
		args = append(args, ofColumns(constant, columns))
	}
	if s.Fn == domain.Copy {
		return args[0], nil
	}
	switch op := domain.FunctionOf(name).Operator; {
	case !s.Known():
		return "", fmt.Errorf("there is no kernel for the function %q", s.Fn)
	case op != "":
		return args[0] + " " + op + " " + args[1], nil
	default:
		return "fn::" + name + "(" + strings.Join(args, ", ") + ")", nil
	}
}

// ofColumns prints a constant. For more than two columns, it prints 1 / columns, as in means, as a division, which has
// the same bits. A comment explains the exponents of a rope with an integer base.
func ofColumns(constant string, columns int64) string {
	v, err := strconv.ParseFloat(constant, 32)
	base := math.Round(math.Exp(-v * float64(columns)))
	switch {
	case err != nil || columns <= 2:
	case float32(v) == 1/float32(columns):
		return "(1.0F / kColumns)"
	case base > 1 && base < 1e9 && float32(v) == float32(-math.Log(base)/float64(columns)):
		return fmt.Sprintf("%s /* -log(%.0f) / kColumns */", floatLiteral(constant), base)
	}
	return floatLiteral(constant)
}

// scattered prints the operands of a kernel over views: address and strides. An operand without memory has its name, in
// a comment, and strides.
func (s *speller) scattered(l *calls.Launch) string {
	var list []string
	for i, o := range append([]calls.Operand{l.Out}, l.In...) {
		text := braces(s.pointer(o.At), extents(o.Strides))
		if o.At.Base == "" {
			text = "/*" + s.kernels[l.Kernel].Operands[i] + "=*/" + braces(extents(o.Strides))
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// rowsOf prints the number of rows along each axis.
func rowsOf(l *calls.Launch) string {
	if len(l.Out.Extents) == 0 {
		return "{1}"
	}
	return extents(l.Out.Extents)
}
