package text

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// Statement returns the text of one statement without nested statements, position and note: "A_s = Select(A,
// axis 0, index s)", "For s in S:".
func Statement(s hostir.Stmt) string {
	switch s := s.(type) {
	case *hostir.GetCurrentStream:
		return hostir.Caller + " = GetCurrentStream"
	case *hostir.For:
		return fmt.Sprintf("For %s in %s:", s.Var, rangeOf(s))
	case *hostir.If:
		return fmt.Sprintf("If %s:", s.Cond)
	case *hostir.Fused:
		return strings.Join(names(s.Out...), ", ") + " = " + call("Fused", fusedArgs(s)...) + ": " + s.Body.Text(s.Names)
	}
	target, op := "", hostir.Op(s)
	var args []string
	for _, f := range hostir.Fields(s) {
		switch text := argument(f); {
		case f.Target:
			target = text + " = "
		case text == "":
		case f.Joined:
			args[len(args)-1] += " " + text
		default:
			args = append(args, text)
		}
	}
	if takesArguments(s) {
		op = call(op, args...)
	}
	if len(hostir.Bodies(s)) > 0 {
		op += ":"
	}
	return target + op
}

// takesArguments reports whether a statement has parentheses.
func takesArguments(s hostir.Stmt) bool {
	fields := hostir.Fields(s)
	return hostir.Result(s) != nil || len(fields) > 1 || len(fields) == 1 && !fields[0].Target
}

// argument returns the text of a field; empty if it is absent.
func argument(f hostir.Field) string {
	if v, ok := f.Value.(*bool); ok {
		yes, no, _ := strings.Cut(f.Word, "|")
		if *v {
			return yes
		}
		return no
	}
	text := value(f.Value)
	if text == "" || omitted(f) {
		return ""
	}
	return strings.TrimSpace(f.Word + " " + text)
}

// omitted reports whether a field is an optional int64 or extent that is zero.
func omitted(f hostir.Field) bool {
	switch v := f.Value.(type) {
	case *int64:
		return f.Optional && *v == 0
	case *domain.Extent:
		return f.Optional && v.Size == 0
	}
	return false
}

// value returns the text of a value; empty for nil, an empty string, and an empty list of names or tensors.
func value(of any) string {
	switch v := of.(type) {
	case *string:
		return *v
	case *collective.Type, *hostir.Backend, *hostir.Locality:
		return reflect.ValueOf(v).Elem().String()
	case *int:
		return strconv.Itoa(*v)
	case *int64:
		return strconv.FormatInt(*v, 10)
	case *expr.Expr:
		return text(*v)
	case fmt.Stringer: // an extent or a stream
		return v.String()
	case **domain.Mesh:
		if *v == nil {
			return ""
		}
		return (*v).Name
	case **hostir.Tensor:
		return strings.Join(names(*v), "")
	case *[]*hostir.Tensor:
		return strings.Join(names(*v...), ", ")
	case *[]string:
		return strings.Join(*v, ", ")
	case *[]int:
		return Numbers(*v)
	}
	panic(fmt.Sprintf("hostir: no text form for %T", of))
}

// rangeOf prints the range of a loop: "S" if the first iteration is 0, else the first iteration and the count, such as
// "1..S".
func rangeOf(s *hostir.For) string {
	if s.First == 0 {
		return s.Count.String()
	}
	return fmt.Sprintf("%d..%s", s.First, s.Count)
}

// fusedArgs prints the kernel and its operands. If the kernel's steps call tensor Z_s by another name, Z, the operand
// is "Z_s as Z".
func fusedArgs(s *hostir.Fused) []string {
	args := []string{s.Kernel}
	for i, t := range s.In {
		if s.Names[i] == t.Name {
			args = append(args, t.Name)
		} else {
			args = append(args, t.Name+" as "+s.Names[i])
		}
	}
	return args
}

func call(op string, args ...string) string { return op + "(" + strings.Join(args, ", ") + ")" }

func names(tensors ...*hostir.Tensor) []string {
	var list []string
	for _, t := range tensors {
		if t != nil {
			list = append(list, t.Name)
		}
	}
	return list
}

func text(e expr.Expr) string {
	if e == nil {
		return ""
	}
	return e.String()
}
