package passes

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// inlinePointers replaces a declared pointer by its value if it has a single use, or if its value has no offset, so
// that it is only another name of a buffer. It keeps pointers with a condition, and drops pointers and numbers without
// uses. In a branch where the condition of a pointer is known, the pointer also replaces other pointers with the same
// value.
//
//	Declare(name C_s, value C + s * K)          Gemm(out C + s * K, ...)
//	Gemm(out C_s, ...)                     ->
//
//	Declare(name P_s, value A, cond s == 0, else B_ + s * K)
//	If(cond s != 0):
//	  Memcpy(in B_ + s * K, ...)           ->     Memcpy(in P_s, ...)
func inlinePointers(p *calls.Program) {
	u := &uses{count: map[calls.Stmt]int{}}
	u.list(p.Body, nil)
	i := &inliner{uses: u.count}
	p.Body = i.list(p.Body, nil)
	dropNumbers(p)
}

// nameScope maps names to their meaning in a list of statements, and in the enclosing lists.
type nameScope[T any] struct {
	outer *nameScope[T]
	names map[string]*T // nil hides the meaning of a name in enclosing lists
}

func newNameScope[T any](outer *nameScope[T]) *nameScope[T] {
	return &nameScope[T]{outer, map[string]*T{}}
}

// find returns the meaning of a name, or nil.
func (s *nameScope[T]) find(name string) *T {
	for ; s != nil; s = s.outer {
		if found, ok := s.names[name]; ok {
			return found
		}
	}
	return nil
}

// uses counts the uses of each declared pointer in fields of statements.
type uses struct{ count map[calls.Stmt]int }

func (u *uses) list(body []calls.Stmt, outer *nameScope[calls.Declare]) {
	declared := newNameScope(outer)
	r := &calls.Rewriter{Place: func(at calls.Pointer) calls.Pointer {
		if d := declared.find(at.Base); d != nil {
			u.count[d]++
		}
		return at
	}}
	for _, s := range body {
		r.Rewrite(s)
		for _, inner := range calls.Bodies(s) {
			u.list(*inner, declared)
		}
		if d, ok := s.(*calls.Declare); ok {
			declared.names[d.Name] = d
		}
	}
}

// inliner replaces declared pointers by their values.
type inliner struct {
	uses   map[calls.Stmt]int
	either []*calls.Declare // pointers with conditions that are declared in the enclosing lists
	given  []string         // conditions of the enclosing branches
}

func (i *inliner) list(body []calls.Stmt, outer *nameScope[calls.Pointer]) []calls.Stmt {
	values := newNameScope(outer)
	r := &calls.Rewriter{Place: func(at calls.Pointer) calls.Pointer {
		found := values.find(at.Base)
		if found == nil {
			return at
		}
		value := *found
		value.Offset = expr.Sum(value.Offset, at.Offset)
		return value
	}}
	var list []calls.Stmt
	outside := len(i.either)
	for _, s := range body {
		r.Rewrite(s)
		given := i.given
		if branch, ok := s.(*calls.If); ok && branch.Cond != nil && len(branch.Else) == 0 {
			i.given = append(slices.Clone(given), branch.Cond.String())
		}
		for _, inner := range calls.Bodies(s) {
			*inner = i.list(*inner, values)
		}
		i.given = given
		if d, ok := s.(*calls.Declare); ok {
			if same := i.equal(d); same != nil {
				values.names[d.Name] = &calls.Pointer{Base: same.Name}
				continue
			}
			if values.names[d.Name] = nil; d.Cond != nil && i.uses[d] > 0 {
				i.either = append(i.either, d)
			}
			if i.uses[d] == 0 || d.Cond == nil && (i.uses[d] == 1 || d.Value.Offset == nil) {
				values.names[d.Name] = &d.Value
				continue
			}
		}
		list = append(list, s)
	}
	i.either = i.either[:outside]
	return list
}

// equal returns a pointer with a condition whose value equals d if the conditions of the enclosing branches hold; nil
// if there is none.
func (i *inliner) equal(d *calls.Declare) *calls.Declare {
	for _, other := range i.either {
		if d.Cond != nil || d.Type != other.Type || d.Guard != other.Guard || other.Const && !d.Const {
			continue
		}
		value := d.Value.String()
		if value == other.Value.String() && slices.Contains(i.given, other.Cond.String()) ||
			value == other.Else.String() && slices.Contains(i.given, expr.Opposite(other.Cond).String()) {
			return other
		}
	}
	return nil
}

// dropNumbers drops each Let that no expression uses, until there are none.
func dropNumbers(p *calls.Program) {
	for {
		used := map[string]bool{}
		calls.RewriteAll(p.Body, &calls.Rewriter{Expression: func(e expr.Expr) expr.Expr {
			expr.Variables(e, func(name string) { used[name] = true })
			return e
		}})
		dropped := false
		p.Body = calls.Edit(p.Body, func(s calls.Stmt) []calls.Stmt {
			if l, ok := s.(*calls.Let); ok && !used[l.Name] {
				dropped = true
				return nil
			}
			return []calls.Stmt{s}
		})
		if !dropped {
			return
		}
	}
}
