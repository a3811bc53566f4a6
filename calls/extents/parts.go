package extents

import (
	"cmp"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/names"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// Parts names the parts of extents. M / D over a mesh axis is kShardM, M / S is kSliceM, M / (S * D) is kSliceShardM and M / 2 is
// kHalfM. M divided by another number is kChunkM. A name contains the whole dividend: (H + 2 * G) / D is kShardH2G. If a name is
// taken, the next part also names its divisor: kShardMByR.
type Parts struct {
	names *names.Table
	mesh  map[string]bool            // parameters in extents of mesh axes
	Named map[string]*calls.Constant // by text
	List  []*calls.Constant
	sizes map[string]int64
	wants map[string]bool      // names that parts have asked for
	same  map[string]expr.Expr // by measure and size: the first extent that has them
	Fixed bool                 // no new names are added
}

// NewParts returns Parts without names. Division by a parameter that occurs in an extent of a mesh makes a shard.
func NewParts(n *names.Table, meshes []*calls.Mesh) *Parts {
	p := &Parts{names: n, mesh: map[string]bool{}, Named: map[string]*calls.Constant{}, sizes: map[string]int64{},
		wants: map[string]bool{}, same: map[string]expr.Expr{}}
	for _, m := range meshes {
		for _, extent := range m.Extents {
			expr.Variables(extent, func(name string) { p.mesh[name] = true })
		}
	}
	return p
}

// shortened replaces parts in an extent by the names of their constants, which it declares unless Parts are Fixed.
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

// Drop removes the name of a constant. From now on, extents have its value in place of its name.
func (p *Parts) Drop(c *calls.Constant) {
	maps.DeleteFunc(p.Named, func(_ string, named *calls.Constant) bool { return named == c })
	for key, e := range p.same {
		p.same[key] = expr.Substitute(e, map[string]expr.Expr{c.Name: c.Value})
	}
}

// once returns the spelling of the first extent with the measure and the size of e, so that equal extents have one spelling. It
// returns short if e is the first, or has no measure. Divisions of extents have no remainders, so measure may divide real numbers.
func (p *Parts) once(e, short expr.Expr, size int64) expr.Expr {
	at := measure(e)
	key := fmt.Sprintf("%.12g %d", at, size)
	if known, ok := p.same[key]; ok || math.IsNaN(at) {
		return cmp.Or(known, short)
	}
	p.same[key] = short
	return short
}

// measure returns the value of an extent where each parameter has a hash of its name as its value. It is NaN if the extent has
// operators other than +, -, * and /.
func measure(e expr.Expr) float64 {
	switch e := e.(type) {
	case expr.Int:
		return float64(e)
	case expr.Var:
		return 1 + float64(crc32.ChecksumIEEE([]byte(e)))/math.MaxUint32
	case *expr.Binary:
		x, y := measure(e.X), measure(e.Y)
		switch e.Op {
		case "+":
			return x + y
		case "-":
			return x - y
		case "*":
			return x * y
		case "/":
			return x / y
		}
	}
	return math.NaN()
}

// whole returns a name for an extent that is split: its parameters and numbers, joined. For a part that is split again, it uses the
// name of the extent of that part. The name is empty if there are no parameters.
func (p *Parts) whole(e expr.Expr) string {
	named := false
	expr.Variables(e, func(string) { named = true })
	if !named {
		return ""
	}
	return strings.Join(p.words(e), "_")
}

// words lists the parameters and numbers of an expression, and the names of its parts without their prefixes.
func (p *Parts) words(e expr.Expr) []string {
	if b, ok := e.(*expr.Binary); ok {
		return append(p.words(b.X), p.words(b.Y)...)
	}
	name := e.String()
	for _, c := range p.List {
		if c.Name == name {
			for _, kind := range []string{"k", "Slice", "Shard", "Chunk", "Half"} {
				name = strings.TrimPrefix(name, kind)
			}
		}
	}
	return []string{name}
}

// constant returns the name of the constant of a part, which it declares on first use.
func (p *Parts) constant(s *Scope, part *expr.Binary, whole string) string {
	key := part.String()
	if c, ok := p.Named[key]; ok {
		return c.Name
	}
	kind := "slice_"
	switch {
	case part.Y == expr.Int(2):
		kind = "half_"
	case isLiteral(part.Y):
		kind = "chunk_"
	}
	sliced := ""
	expr.Variables(part.Y, func(v string) {
		if p.mesh[v] {
			kind = "shard_"
		} else {
			sliced = "slice_"
		}
	})
	if kind == "shard_" {
		kind = sliced + kind
	}
	want := kind + whole
	if p.wants[want] {
		want += "_by_" + strings.Join(p.words(part.Y), "_")
	}
	p.wants[want] = true
	c := &calls.Constant{Name: p.names.Constant(want), Value: part}
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
	for _, by := range Multiplied(part.Y) {
		if !p.mesh[by.String()] {
			s.shortened(expr.Op("/", part.X, by)) // the slice of which this part is a shard
		}
	}
	return c.Name
}

// Wholes returns a function that replaces the product of a part and its number by the extent, or by a larger part. It prints S * D *
// kSliceShardM * K as M * K, and D * kSliceShardM as kSliceM.
func (p *Parts) Wholes() func(expr.Expr) expr.Expr {
	var rules []wholeRule
	for _, c := range p.List {
		part, _ := c.Value.(*expr.Binary)
		of := func(value, whole expr.Expr) {
			rules = append(rules, wholeRule{append(Multiplied(expr.Cancel(expr.Op("/", value, part))), expr.Var(c.Name)), whole})
		}
		of(part.X, part.X)
		for _, larger := range p.List {
			if larger != c {
				of(larger.Value, expr.Var(larger.Name))
			}
		}
	}
	return func(e expr.Expr) expr.Expr {
		return expr.Rewrite(e, func(e expr.Expr) expr.Expr {
			factors := Multiplied(e)
			short := replaced(slices.Clone(factors), rules)
			if len(short) == len(factors) {
				return nil
			}
			product := short[0]
			for _, f := range short[1:] {
				product = &expr.Binary{Op: "*", X: product, Y: f}
			}
			return product
		})
	}
}

// wholeRule replaces adjacent factors, the last of which is a part, by their product.
type wholeRule struct {
	factors []expr.Expr
	whole   expr.Expr
}

// replaced applies at each place of a list of factors the first rule that fits. A rule makes the list shorter.
func replaced(factors []expr.Expr, rules []wholeRule) []expr.Expr {
	same := func(a, b expr.Expr) bool { return a.String() == b.String() }
	for at := 0; at < len(factors); at++ {
		for _, r := range rules {
			if end := at + len(r.factors); end <= len(factors) && slices.EqualFunc(factors[at:end], r.factors, same) {
				factors = slices.Replace(factors, at, end, r.whole)
				break
			}
		}
	}
	return factors
}
