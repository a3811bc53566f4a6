package extents

import (
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/names"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// Parts names the parts of extents: M / D over a mesh axis is kShardM, M / S is kSliceM, and half of either is kChunkM.
type Parts struct {
	names *names.Table
	mesh  map[string]bool            // parameters that are extents of mesh axes
	Named map[string]*calls.Constant // by text
	List  []*calls.Constant
	sizes map[string]int64
	Fixed bool // no new names are added
}

// NewParts returns Parts without names. Division by a parameter that occurs in an extent of a mesh makes a shard.
func NewParts(n *names.Table, meshes []*calls.Mesh) *Parts {
	p := &Parts{names: n, mesh: map[string]bool{}, Named: map[string]*calls.Constant{}, sizes: map[string]int64{}}
	for _, m := range meshes {
		for _, extent := range m.Extents {
			expr.Variables(extent, func(name string) { p.mesh[name] = true })
		}
	}
	return p
}

// shortened replaces parts in an extent by their names.
func (s *Scope) shortened(e expr.Expr) expr.Expr {
	b, ok := e.(*expr.Binary)
	if !ok || s.Parts == nil {
		return e
	}
	short := &expr.Binary{Op: b.Op, X: s.shortened(b.X), Y: s.shortened(b.Y)}
	if b.Op != "/" {
		return short
	}
	whole := s.Parts.whole(short.X)
	if _, known := s.Parts.Named[short.String()]; whole == "" || s.Parts.Fixed && !known {
		return short
	}
	return expr.Var(s.Parts.constant(s, short, whole))
}

// whole returns the name of the extent that is split: the last parameter of a product, or the extent of a part that is split
// again.
func (p *Parts) whole(e expr.Expr) string {
	name := ""
	expr.Variables(e, func(v string) { name = v })
	for _, c := range p.List {
		if c.Name == name {
			return strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(name, "kShard"), "kSlice"), "kChunk"), "k")
		}
	}
	return name
}

// constant declares a part, once.
func (p *Parts) constant(s *Scope, part *expr.Binary, whole string) string {
	key := part.String()
	if c, ok := p.Named[key]; ok {
		return c.Name
	}
	kind := "slice_"
	if isLiteral(part.Y) {
		kind = "chunk_"
	}
	expr.Variables(part.Y, func(v string) {
		if p.mesh[v] {
			kind = "shard_"
		}
	})
	c := &calls.Constant{Name: p.names.Constant(kind + whole), Value: part}
	p.Named[key] = c
	p.List = append(p.List, c)
	size, _ := expr.Eval(part, func(name string) (int64, bool) {
		if v, ok := p.sizes[name]; ok {
			return v, true
		}
		for spec, value := range s.Values {
			if s.Names[spec] == name {
				return value, true
			}
		}
		return 0, false
	})
	p.sizes[c.Name] = size
	return c.Name
}
