package fromhost

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// keepConstants declares the constants that the program uses more than once, and replaces other constants by their
// expressions.
func (b *builder) keepConstants() {
	p, l := b.scope.Parts, b.out
	p.Fixed, l.Constants = true, nil
	for i := len(p.List) - 1; i >= 0; i-- {
		c := p.List[i]
		if spelled(l.Program, c.Name) > 1 {
			l.Constants = append([]*calls.Constant{c}, l.Constants...)
			continue
		}
		by := map[string]expr.Expr{c.Name: c.Value}
		b.rewrite(func(e expr.Expr) expr.Expr { return expr.Substitute(e, by) })
		p.Drop(c)
	}
}

// spelled counts how often the program uses the name of a constant, except in comments.
func spelled(p *calls.Program, name string) int {
	count := 0
	rewriteExpressions(p, &calls.Rewriter{Code: true, Expression: func(e expr.Expr) expr.Expr {
		expr.Variables(e, func(v string) {
			if v == name {
				count++
			}
		})
		return e
	}})
	return count
}

// rewriteExpressions rewrites the expressions of statements and of all declarations except meshes, which keep their
// expressions.
func rewriteExpressions(p *calls.Program, r *calls.Rewriter) {
	calls.RewriteAll(p.Body, r)
	for _, d := range p.Declarations() {
		if _, mesh := d.(*calls.Mesh); !mesh {
			r.Rewrite(d)
		}
	}
}

// rewrite rewrites the expressions of the program, and the sizes in its About.
func (b *builder) rewrite(by func(expr.Expr) expr.Expr) {
	rewriteExpressions(b.out.Program, &calls.Rewriter{Expression: by})
	r := &b.out.About
	for i := range r.Gemms {
		m := &r.Gemms[i]
		m.M, m.N, m.K, m.Batch = by(m.M), by(m.N), by(m.K), by(m.Batch)
	}
	if r.Bytes != nil {
		r.Bytes, r.Team = by(r.Bytes), by(r.Team)
	}
}
