package hostir

import (
	"cmp"
	"iter"
	"reflect"
	"slices"
)

// All iterates over the statements of a body in program order. The statements of a For, If or PeerReadSum follow it.
func All(body []Stmt) iter.Seq[Stmt] { return Each[Stmt](body) }

// Each is All for the statements of one type.
func Each[S Stmt](body []Stmt) iter.Seq[S] {
	return func(yield func(S) bool) { each(body, yield) }
}

func each[S Stmt](body []Stmt, yield func(S) bool) bool {
	for _, s := range body {
		if typed, is := s.(S); is && !yield(typed) {
			return false
		}
		for _, b := range Bodies(s) {
			if !each(*b, yield) {
				return false
			}
		}
	}
	return true
}

// Any reports whether is returns true for a statement of the body, or for a nested one.
func Any(body []Stmt, is func(Stmt) bool) bool {
	for s := range All(body) {
		if is(s) {
			return true
		}
	}
	return false
}

// Is reports whether a statement has type S.
func Is[S Stmt](s Stmt) bool {
	_, is := s.(S)
	return is
}

// Rewrite replaces every statement by the result of f, innermost first, and returns the new body. It sets the nested bodies of
// statements, but does not write to the slices of the old bodies.
func Rewrite(body []Stmt, f func(Stmt) []Stmt) []Stmt {
	out := make([]Stmt, 0, len(body))
	for _, s := range body {
		for _, b := range Bodies(s) {
			*b = Rewrite(*b, f)
		}
		out = append(out, f(s)...)
	}
	return out
}

// RewriteBlocks replaces every list of statements by the result of f, innermost first. Passes that look at adjacent statements
// use it.
func RewriteBlocks(body []Stmt, f func([]Stmt) []Stmt) []Stmt {
	for _, s := range body {
		for _, b := range Bodies(s) {
			*b = RewriteBlocks(*b, f)
		}
	}
	return f(body)
}

// Bodies returns the statement lists inside a statement: one for a For or a PeerReadSum, two for an If, none for others.
func Bodies(s Stmt) []*[]Stmt {
	var list []*[]Stmt
	for _, i := range layoutOf(s).bodies {
		list = append(list, reflect.ValueOf(s).Elem().Field(i).Addr().Interface().(*[]Stmt)) //nolint:forcetypeassert // as layoutOf says
	}
	return list
}

// Uses lists the tensors whose elements a statement reads, in the order of its fields, without absent optional ones. For a
// statement that makes a view, it lists the tensor viewed, or both sides of an Either. It ignores nested statements.
func Uses(s Stmt) []*Tensor { return load(uses(s, new(fewTensors))) }

// Defs lists the tensors that a statement itself writes. For a statement that makes a view, it lists the view.
func Defs(s Stmt) []*Tensor { return load(defs(s, new(fewTensors))) }

// Mentions lists every tensor that a statement itself names, including buffers that it only allocates or frees.
func Mentions(s Stmt) []*Tensor {
	return slices.Concat(Uses(s), Defs(s), load(tensors(s, layoutOf(s).mentions, new(fewTensors))))
}

// SubstituteUses replaces each operand t by f(t).
func SubstituteUses(s Stmt, f func(*Tensor) *Tensor) {
	for _, u := range uses(s, new(fewTensors)) {
		*u = f(*u)
	}
}

// ReplaceUses replaces the operands of a statement, in the order of Uses. Unlike SubstituteUses it can replace one of two
// operands that are the same tensor.
func ReplaceUses(s Stmt, operands []*Tensor) {
	for i, u := range uses(s, new(fewTensors)) {
		*u = operands[i]
	}
}

// SubstituteDefs replaces each result t by f(t).
func SubstituteDefs(s Stmt, f func(*Tensor) *Tensor) {
	for _, d := range defs(s, new(fewTensors)) {
		*d = f(*d)
	}
}

// ReplaceDef replaces the result t of a statement.
func ReplaceDef(s Stmt, t, by *Tensor) { SubstituteDefs(s, ByMap(map[*Tensor]*Tensor{t: by})) }

// ByMap returns a function that maps the tensors of a map to their values, and each other tensor to itself.
func ByMap(by map[*Tensor]*Tensor) func(*Tensor) *Tensor {
	return func(t *Tensor) *Tensor { return cmp.Or(by[t], t) }
}

// Readers returns the statements of a body that read each tensor, in order. A statement counts once for each operand.
func Readers(body []Stmt) map[*Tensor][]Stmt {
	readers := map[*Tensor][]Stmt{}
	for _, s := range body {
		for _, t := range Uses(s) {
			readers[t] = append(readers[t], s)
		}
	}
	return readers
}

// Makers returns the statement of a body that makes each tensor.
func Makers(body []Stmt) map[*Tensor]Stmt {
	makers := map[*Tensor]Stmt{}
	for _, s := range body {
		for _, t := range Defs(s) {
			makers[t] = s
		}
	}
	return makers
}

// MakesView reports whether a statement can make its result a view of its operand. Such a view only names memory.
func MakesView(s Stmt) bool {
	switch s.(type) {
	case *Select, *Either, *Broadcast, *Permute, *Reshape, *Slice:
		return true
	default:
		return false
	}
}

// Result returns the first tensor that a statement writes, such as the buffer of a receive, or nil. For a statement that makes a
// view, it returns the view.
func Result(s Stmt) *Tensor {
	if list := defs(s, new(fewTensors)); len(list) > 0 {
		return *list[0]
	}
	return nil
}

// Handle returns the name that Wait uses for the communication that a statement starts, or for the group that it closes; "" for other
// statements.
func Handle(s Stmt) string {
	switch s := s.(type) {
	case *Communication:
		return s.Handle
	case *P2PCommunication:
		return s.Handle
	case *EndCoalescing:
		return s.Handle
	default:
		return ""
	}
}

func load(list []**Tensor) []*Tensor {
	out := make([]*Tensor, 0, len(list))
	for _, t := range list {
		out = append(out, *t)
	}
	return out
}

// fewTensors is storage for the operands or results of most statements, to avoid an allocation.
type fewTensors [4]**Tensor

// uses returns pointers to the operands of a statement, without absent optional ones.
func uses(s Stmt, in *fewTensors) []**Tensor {
	if t, ok := s.(*P2PCommunication); ok && !t.Send {
		return nil
	}
	return tensors(s, layoutOf(s).uses, in)
}

// defs returns pointers to the results of a statement.
func defs(s Stmt, in *fewTensors) []**Tensor {
	if t, ok := s.(*P2PCommunication); ok && !t.Send {
		return append(in[:0], &t.Buffer)
	}
	return tensors(s, layoutOf(s).defs, in)
}

// tensors returns pointers to the tensors in some fields, without absent optional ones. Lists contribute their elements.
func tensors(s Stmt, fields []placed, in *fewTensors) []**Tensor {
	v, list := reflect.ValueOf(s).Elem(), in[:0]
	for _, field := range fields {
		switch f := v.Field(field.at).Addr().Interface().(type) {
		case **Tensor:
			if *f != nil || !field.Optional {
				list = append(list, f)
			}
		case *[]*Tensor:
			for k := range *f {
				list = append(list, &(*f)[k])
			}
		}
	}
	return list
}

// IsGEMM reports whether a statement is a matrix multiplication.
func IsGEMM(s Stmt) bool {
	switch s.(type) {
	case *Matmul, *Linear, *BlockLinear:
		return true
	default:
		return false
	}
}
