package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/model/domain"
)

// How the program's own kernels are spelled in C++.

// kernelTypes are the types of the operands of a kernel.
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

// kernelMembers declares the operands.
func kernelMembers(k *calls.Kernel) []string {
	members := kernelTypes(k)
	for i, name := range k.Operands {
		members[i] += " " + name + ";"
	}
	return members
}

// kernelParams prints the parameters of its function.
func kernelParams(k *calls.Kernel) string {
	params := kernelTypes(k)
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
	return strings.Join(append(params, count, "cudaStream_t stream", "const char* where"), ", ")
}

// kernelLaunch prints its launch.
func kernelLaunch(k *calls.Kernel, class func(string) string) string {
	body := class(k.Name) + braces(k.Operands...)
	var long []string // what is read by rows
	for i, use := range k.Uses {
		if use != calls.ForRow && use != calls.ForSeed && k.Types[i] != calls.InPositions {
			long = append(long, k.Operands[i])
		}
	}
	accesses := "hirgen::accesses(" + strings.Join(long, ", ") + ")"
	if slices.Contains(k.Uses, calls.ForSeed) {
		accesses += ".few()" // random numbers take registers
	}
	switch {
	case k.Columns == 0:
		return fmt.Sprintf("hirgen::launch_elements(%s, elements, %s, stream, where)", body, accesses)
	case k.Views:
		return fmt.Sprintf("hirgen::launch_rows<%d, %d>(%s, rows, %s, stream, where)", k.Columns, k.Axes, body, accesses)
	default:
		return fmt.Sprintf("hirgen::launch_rows<%d>(%s, {rows}, %s, stream, where)", k.Columns, body, accesses)
	}
}

// readOf is how a row has an operand.
var readOf = map[string]string{calls.ForElement: "load", calls.ForColumn: "along", calls.ForRow: "value", calls.ForSeed: "seed"}

// kernelBody prints what a row of the results is, a line for each step. An operand that several steps read is
// read once, and what takes long to compute is computed once.
func kernelBody(k *calls.Kernel) ([]string, error) {
	steps, results, operands := k.Steps(), k.Operands[:k.Results], k.Operands[k.Results:]
	var lines, values []string
	var wide []bool // has a value for each column
	for _, use := range k.Uses[k.Results:] {
		wide = append(wide, use != calls.ForRow && use != calls.ForSeed)
	}
	wide = steps.Rows(wide)
	long, reads := make([]bool, len(wide)), readersOf(steps, len(operands))
	for i, name := range operands {
		readers, value := reads[i], fmt.Sprintf("row.%s(%s)", readOf[k.Uses[int(k.Results)+i]], name)
		if readers > 1 {
			lines = append(lines, fmt.Sprintf("const auto %s_row = %s;", name, value))
			value = name + "_row"
		}
		values = append(values, value)
	}
	for i, s := range steps {
		args := make([]string, len(s.Args))
		for j, at := range s.Args {
			args[j] = values[at]
		}
		value, err := stepOf(s, args)
		if err != nil {
			return nil, err
		}
		at := len(operands) + i
		result, readers := slices.Index(results, s.Name), reads[at]
		uses := readers
		if result >= 0 {
			uses++
		}
		long[at] = wide[at] && (takesLong(s) || slices.ContainsFunc(s.Args, func(a int) bool { return long[a] }))
		if long[at] && uses > 1 {
			value, long[at] = "row.keep("+value+")", false
		}
		name := s.Name
		if result >= 0 {
			name += "_row"
		}
		if readers > 0 {
			lines = append(lines, fmt.Sprintf("const auto %s = %s;", name, value))
			value = name
		}
		if result >= 0 {
			store := "store"
			if k.Uses[result] == calls.ForRow {
				store = "put"
			}
			lines = append(lines, fmt.Sprintf("row.%s(%s, %s);", store, s.Name, value))
		}
		values = append(values, name)
	}
	return lines, nil
}

// readersOf counts how often steps read each of so many operands, and each earlier step.
func readersOf(steps domain.Body, operands int) []int {
	readers := make([]int, operands+len(steps))
	for _, s := range steps {
		for _, at := range s.Args {
			readers[at]++
		}
	}
	return readers
}

// takesLong reports whether a step computes more than a few instructions for an element.
func takesLong(s domain.Step) bool {
	name, _ := domain.SplitFn(s.Fn)
	if _, drops := domain.DropoutOf(s.Fn); drops {
		return true
	}
	return len(s.Args) == 1 && !s.Folds() && operators[name] == "" && name != domain.Copy && !slices.Contains([]string{"neg", "relu", "relu_grad"}, name)
}

// operators are the functions that C++ has operators for.
var operators = map[string]string{"add": "+", "sub": "-", "mul": "*", "div": "/", "scale": "*", "shift": "+"}

// stepOf prints the value of a step.
func stepOf(s domain.Step, args []string) (string, error) {
	name, constant := domain.SplitFn(s.Fn)
	if s.Folds() {
		return fmt.Sprintf("fn::%s(row, %s)", name, args[0]), nil
	}
	if d, drops := domain.DropoutOf(s.Fn); drops {
		return "fn::dropout(" + strings.Join(append(args, dropoutLiteral(d)), ", ") + ")", nil
	}
	if constant != "" {
		args = append(args, floatLiteral(constant))
	}
	if s.Fn == domain.Copy {
		return args[0], nil
	}
	known := unaryFns[name] != "" && len(s.Args) == 1 || binaryFns[name] != "" && len(s.Args) == 2
	switch op := operators[name]; {
	case !known:
		return "", fmt.Errorf("there is no kernel for the function %q", s.Fn)
	case op != "":
		return args[0] + " " + op + " " + args[1], nil
	default:
		return "fn::" + name + "(" + strings.Join(args, ", ") + ")", nil
	}
}

// scattered prints an operand of a kernel over views.
func (s *speller) scattered(o calls.Operand) string {
	if o.At.Base == "" {
		return braces(extents(o.Strides))
	}
	return braces(s.pointer(o.At), extents(o.Strides))
}

// rows prints how many rows there are along each axis.
func rowsOf(l *calls.Launch) string {
	if len(l.Out.Extents) == 0 {
		return "{1}"
	}
	return extents(l.Out.Extents)
}
