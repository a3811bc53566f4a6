package text

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

func bodyObjects(body []hostir.Stmt, world int) []object {
	list := make([]object, 0, len(body))
	for _, s := range body {
		list = append(list, statementObject(s, world))
	}
	return list
}

// statementObject returns a statement as an object: op, the fields, the ranks if not all ranks run the statement, position
// and note, and bodies last.
func statementObject(s hostir.Stmt, world int) object {
	o := append(object{{"op", hostir.Op(s)}}, fields(s)...)
	if _, sets := s.(*SetCurrentStream); sets {
		return appendPos(o, s.Meta().Pos)
	}
	if ranks := hostir.Ranks(s); ranks != nil && len(ranks) < world {
		o = append(o, member{"ranks", ranks})
	}
	o = appendPos(o, s.Meta().Pos)
	if s.Meta().Note != "" {
		o = append(o, member{"note", s.Meta().Note})
	}
	for i, body := range hostir.Bodies(s) {
		o = append(o, member{[]string{"body", "else"}[i], bodyObjects(*body, world)})
	}
	return o
}

// fields returns the fields that are present. The object of a statement with results and without a handle begins with
// "out" (the first result), the list "in" of operands and, if there are other results, their list "further".
func fields(s hostir.Stmt) object {
	var o object
	_, current := s.(*hostir.GetCurrentStream)
	out := hostir.Result(s)
	computes := out != nil && hostir.Handle(s) == ""
	switch {
	case current:
		o = object{{"stream", hostir.Caller}}
	case computes:
		o = object{{"out", out.Name}, {"in", append([]string{}, names(hostir.Uses(s)...)...)}}
		if further := hostir.Defs(s)[1:]; len(further) > 0 {
			o = append(o, member{"further", names(further...)})
		}
	}
	for _, f := range hostir.Fields(s) {
		switch f.Value.(type) {
		case **hostir.Tensor, *[]*hostir.Tensor:
			if computes && f.Word == "" {
				continue
			}
		}
		if v := jsonValue(s, f); v != nil {
			o = append(o, member{f.Key, v})
		}
	}
	if s, ok := s.(*hostir.Allocate); ok {
		o = append(o, member{"role", s.Tensor.Role.String()})
	}
	return o
}

// jsonValue returns a field of a statement in JSON; nil if it is absent.
func jsonValue(s hostir.Stmt, f hostir.Field) any {
	if omitted(f) {
		return nil
	}
	switch v := f.Value.(type) {
	case *int, *int64, *[]int, *[]string:
		return v
	case *bool:
		if word := argument(f); strings.Contains(f.Word, "|") {
			return word
		} else if word == "" {
			return nil
		}
		return true
	case *domain.Body:
		return fusedSteps(s.(*hostir.Fused)) //nolint:forcetypeassert // no other statement has a body of this kind
	}
	if text := value(f.Value); text != "" {
		return text
	}
	return nil
}

// fusedSteps lists the steps of a kernel: name, function and, by name, operands. "also" marks values that are additional results.
func fusedSteps(s *hostir.Fused) []object {
	names, steps := slices.Clone(s.Names), make([]object, len(s.Body))
	for i, step := range s.Body {
		args := make([]string, len(step.Args))
		for k, at := range step.Args {
			args[k] = names[at]
		}
		steps[i] = object{{"name", step.Name}, {"fn", step.Fn}, {"in", args}}
		if step.Also {
			steps[i] = append(steps[i], member{"also", true})
		}
		names = append(names, step.Name)
	}
	return steps
}
