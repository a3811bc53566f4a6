package calls

import (
	"strings"

	"github.com/hirgen/hirgen/internal/expr"
)

// parts names the parts of extents: M / D over a mesh axis is kShardM, M / S is kSliceM and half of
// either kChunkM.
type parts struct {
	names *names
	mesh  map[string]bool      // parameters that are extents of mesh axes
	named map[string]*Constant // by text
	list  []*Constant
	sizes map[string]int64
	fixed bool // no more of them are named
}

func newParts(n *names, meshes []*Mesh) *parts {
	p := &parts{names: n, mesh: map[string]bool{}, named: map[string]*Constant{}, sizes: map[string]int64{}}
	for _, m := range meshes {
		for _, extent := range m.Extents {
			variables(extent, func(name string) { p.mesh[name] = true })
		}
	}
	return p
}

// shortened puts the names of parts in an extent.
func (s *scope) shortened(e expr.Expr) expr.Expr {
	b, ok := e.(*expr.Binary)
	if !ok || s.parts == nil {
		return e
	}
	short := &expr.Binary{Op: b.Op, X: s.shortened(b.X), Y: s.shortened(b.Y)}
	if b.Op != "/" {
		return short
	}
	whole := s.parts.whole(short.X)
	if _, known := s.parts.named[short.String()]; whole == "" || s.parts.fixed && !known {
		return short
	}
	return expr.Var(s.parts.constant(s, short, whole))
}

// whole names what is split: the last parameter of a product, or that of which a part is split again.
func (p *parts) whole(e expr.Expr) string {
	name := ""
	variables(e, func(v string) { name = v })
	for _, c := range p.list {
		if c.Name == name {
			return strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(name, "kShard"), "kSlice"), "kChunk"), "k")
		}
	}
	return name
}

// constant declares a part, once.
func (p *parts) constant(s *scope, part *expr.Binary, whole string) string {
	key := part.String()
	if c, ok := p.named[key]; ok {
		return c.Name
	}
	kind := "slice_"
	if isLiteral(part.Y) {
		kind = "chunk_"
	}
	variables(part.Y, func(v string) {
		if p.mesh[v] {
			kind = "shard_"
		}
	})
	c := &Constant{p.names.constant(kind + whole), part}
	p.named[key] = c
	p.list = append(p.list, c)
	size, _ := expr.Eval(part, func(name string) (int64, bool) {
		if v, ok := p.sizes[name]; ok {
			return v, true
		}
		for spec, value := range s.values {
			if s.names[spec] == name {
				return value, true
			}
		}
		return 0, false
	})
	p.sizes[c.Name] = size
	return c.Name
}

// keepConstants declares the constants that several places name, and spells the others out.
func (l *Lowered) keepConstants(p *parts) {
	p.fixed, l.Constants = true, nil
	for i := len(p.list) - 1; i >= 0; i-- {
		c := p.list[i]
		if l.spelled(c.Name) > 1 {
			l.Constants = append([]*Constant{c}, l.Constants...)
			continue
		}
		by := map[string]expr.Expr{c.Name: c.Value}
		l.rewriteExpressions(&rewriter{expression: func(e expr.Expr) expr.Expr { return substitute(e, by) }})
		l.Report.spellOut(by)
		for key, named := range p.named {
			if named == c {
				delete(p.named, key)
			}
		}
	}
}

// spelled counts the places that name a constant.
func (l *Lowered) spelled(name string) int {
	count := 0
	l.rewriteExpressions(&rewriter{code: true, expression: func(e expr.Expr) expr.Expr {
		variables(e, func(v string) {
			if v == name {
				count++
			}
		})
		return e
	}})
	return count
}

// rewriteExpressions rewrites the expressions of statements and declarations.
func (l *Lowered) rewriteExpressions(r *rewriter) {
	rewriteAll(l.Body, r)
	for _, d := range l.declarations() {
		if _, mesh := d.(*Mesh); !mesh {
			d.fields(r)
		}
	}
}

// spellOut puts expressions for names.
func (r *Report) spellOut(by map[string]expr.Expr) {
	for i := range r.Gemms {
		m := &r.Gemms[i]
		m.M, m.N, m.K, m.Batch = substitute(m.M, by), substitute(m.N, by), substitute(m.K, by), substitute(m.Batch, by)
	}
	if r.Bytes != nil {
		r.Bytes, r.Team = substitute(r.Bytes, by), substitute(r.Team, by)
	}
}
