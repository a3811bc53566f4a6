package calls

import "github.com/hirgen/hirgen/internal/expr"

// inlinePointers spells a pointer where it is used when one statement uses it, or when it is only
// another name of a buffer, and drops pointers and numbers that nothing uses.
//
//	Declare(name C_s, value C + s * K)          Gemm(out C + s * K, ...)
//	Gemm(out C_s, ...)                     ->
func inlinePointers(p *Program) {
	u := &uses{count: map[Stmt]int{}}
	u.list(p.Body, map[string]Stmt{})
	i := &inliner{uses: u.count}
	p.Body = i.list(p.Body, map[string]Pointer{})
	dropNumbers(p)
}

// uses counts how many fields of statements name each declared pointer.
type uses struct{ count map[Stmt]int }

func (u *uses) list(body []Stmt, outer map[string]Stmt) {
	scope := map[string]Stmt{}
	find := func(name string) Stmt {
		if d, ok := scope[name]; ok {
			return d
		}
		return outer[name]
	}
	for _, s := range body {
		s.fields(&rewriter{place: func(at Pointer) Pointer {
			if d := find(at.Base); d != nil {
				u.count[d]++
			}
			return at
		}})
		if lists := Bodies(s); len(lists) > 0 {
			visible := map[string]Stmt{}
			for name, d := range outer {
				visible[name] = d
			}
			for name, d := range scope {
				visible[name] = d
			}
			for _, inner := range lists {
				u.list(*inner, visible)
			}
		}
		if d, ok := s.(*Declare); ok {
			scope[d.Name] = d
		}
	}
}

// inliner puts the values of pointers in their places.
type inliner struct{ uses map[Stmt]int }

func (i *inliner) list(body []Stmt, outer map[string]Pointer) []Stmt {
	values := map[string]Pointer{}
	for name, at := range outer {
		values[name] = at
	}
	r := &rewriter{place: func(at Pointer) Pointer {
		value, ok := values[at.Base]
		if !ok {
			return at
		}
		value.Offset = added(value.Offset, at.Offset)
		return value
	}}
	var list []Stmt
	for _, s := range body {
		s.fields(r)
		for _, inner := range Bodies(s) {
			*inner = i.list(*inner, values)
		}
		if d, ok := s.(*Declare); ok {
			delete(values, d.Name)
			if i.uses[d] == 0 || d.Cond == nil && (i.uses[d] == 1 || d.Value.Offset == nil) {
				values[d.Name] = d.Value
				continue
			}
		}
		list = append(list, s)
	}
	return list
}

// dropNumbers drops the numbers that nothing names.
func dropNumbers(p *Program) {
	for {
		used := map[string]bool{}
		rewriteAll(p.Body, &rewriter{expression: func(e expr.Expr) expr.Expr {
			variables(e, func(name string) { used[name] = true })
			return e
		}})
		dropped := false
		p.Body = Edit(p.Body, func(s Stmt) []Stmt {
			if l, ok := s.(*Let); ok && !used[l.Name] {
				dropped = true
				return nil
			}
			return []Stmt{s}
		})
		if !dropped {
			return
		}
	}
}
