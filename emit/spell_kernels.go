package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/model/domain"
)

// How the program's own kernels are spelled in C++.

// kernelTypes are the types of the operands of a kernel, the result first.
func kernelTypes(k *calls.Kernel) []string {
	types := []string{alias(k.OutType)}
	for _, t := range k.Types {
		types = append(types, "const "+alias(domain.DType(t)))
	}
	for i, t := range types {
		if types[i] = t + "*"; k.Views {
			types[i] = "hirgen::Scattered<" + t + ">"
		}
	}
	return types
}

// kernelNames are the names of its operands, the result first.
func kernelNames(k *calls.Kernel) []string { return append([]string{k.Out}, k.Operands...) }

// kernelMembers declares the operands.
func kernelMembers(k *calls.Kernel) []string {
	members := kernelTypes(k)
	for i, name := range kernelNames(k) {
		members[i] += " " + name + ";"
	}
	return members
}

// kernelParams prints the parameters of its function.
func kernelParams(k *calls.Kernel) string {
	params := kernelTypes(k)
	for i, name := range kernelNames(k) {
		params[i] += " " + name
	}
	count := "int64_t elements"
	switch {
	case k.Views:
		count = "std::initializer_list<int64_t> extents"
	case k.Columns > 0:
		count = "int64_t rows"
	}
	return strings.Join(append(params, count, "cudaStream_t stream", "const char* where"), ", ")
}

// kernelLaunch prints its launch.
func kernelLaunch(k *calls.Kernel, class func(string) string) string {
	body := class(k.Name) + braces(kernelNames(k)...)
	if k.Views {
		return "hirgen::launch_scattered(" + body + ", extents, stream, where)"
	}
	var long []string // what is read by rows
	for i, use := range append([]string{k.OutUse}, k.Uses...) {
		if use != calls.ForRow {
			long = append(long, kernelNames(k)[i])
		}
	}
	accesses := "hirgen::accesses(" + strings.Join(long, ", ") + ")"
	if k.Columns == 0 {
		return fmt.Sprintf("hirgen::launch_elements(%s, elements, %s, stream, where)", body, accesses)
	}
	return fmt.Sprintf("hirgen::launch_rows<%d>(%s, rows, %s, stream, where)", k.Columns, body, accesses)
}

// readOf is how a row has an operand.
var readOf = map[string]string{calls.ForElement: "load", calls.ForColumn: "along", calls.ForRow: "value"}

// kernelBody prints what a row of the result is, a line for each step. An operand that several steps read is
// read once, and what takes long to compute is computed once.
func kernelBody(k *calls.Kernel) ([]string, error) {
	steps := k.Steps()
	var lines, values []string
	var wide []bool // has a value for each column
	for _, use := range k.Uses {
		wide = append(wide, use != calls.ForRow)
	}
	wide = steps.Rows(wide)
	long := make([]bool, len(wide))
	for i, name := range k.Operands {
		readers, value := readersOf(steps, i), fmt.Sprintf("row.%s(%s)", readOf[k.Uses[i]], name)
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
		at := len(k.Operands) + i
		long[at] = wide[at] && (takesLong(s) || slices.ContainsFunc(s.Args, func(a int) bool { return long[a] }))
		if long[at] && readersOf(steps, at) > 1 {
			value, long[at] = "row.keep("+value+")", false
		}
		switch {
		case i+1 < len(steps):
			lines = append(lines, fmt.Sprintf("const auto %s = %s;", s.Name, value))
		case k.OutUse == calls.ForRow:
			lines = append(lines, fmt.Sprintf("row.put(%s, %s);", k.Out, value))
		default:
			lines = append(lines, fmt.Sprintf("row.store(%s, %s);", k.Out, value))
		}
		values = append(values, s.Name)
	}
	return lines, nil
}

// readersOf counts how often steps read an operand or an earlier step.
func readersOf(steps domain.Body, at int) int {
	readers := 0
	for _, s := range steps {
		readers += len(slices.DeleteFunc(slices.Clone(s.Args), func(a int) bool { return a != at }))
	}
	return readers
}

// takesLong reports whether a step computes more than a few instructions for an element.
func takesLong(s domain.Step) bool {
	name, _ := domain.SplitFn(s.Fn)
	return len(s.Args) == 1 && !s.Folds() && operators[name] == "" && !slices.Contains([]string{"neg", "relu", "relu_grad"}, name)
}

// operators are the functions that C++ has operators for.
var operators = map[string]string{"add": "+", "sub": "-", "mul": "*", "div": "/", "scale": "*", "shift": "+"}

// stepOf prints the value of a step.
func stepOf(s domain.Step, args []string) (string, error) {
	name, constant := domain.SplitFn(s.Fn)
	if s.Folds() {
		return fmt.Sprintf("fn::%s(row, %s)", name, args[0]), nil
	}
	if constant != "" {
		args = append(args, floatLiteral(constant))
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
	return braces(s.pointer(o.At), extents(o.Strides))
}
