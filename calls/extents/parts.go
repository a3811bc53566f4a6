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

// Parts names the parts of extents. With D ranks along a mesh axis, M / D is kShardM, M / S is kSliceM, M / (S * D) is
// kSliceShardM and M / 2 is kHalfM. M divided by any other number is kChunkM. A name contains the whole dividend: (H +
// 2 * G) / D is kShardH2G. If a name is taken, the name of the next part also contains its divisor: kShardMByR.
type Parts struct {
	names *names.Table
	mesh  map[string]bool            // parameters that occur in the extents of mesh axes
	Named map[string]*calls.Constant // by the text of the part, such as "M / D"
	List  []*calls.Constant
	sizes map[string]int64
	wants map[string]bool      // names that parts have asked for, such as slice_M
	same  map[string]expr.Expr // spelling of an extent, by its measure and size
	Fixed bool                 // no constants are added from now on
}

// NewParts returns Parts without names. A part is a shard if its divisor contains a parameter that occurs in an extent
// of a mesh.
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

// Shortened replaces parts in an extent by the names of their constants. It declares new constants unless Parts is
// Fixed.
func (s *Scope) Shortened(e expr.Expr) expr.Expr {
	b, ok := e.(*expr.Binary)
	if !ok || s.Parts == nil {
		return e
	}
	short := &expr.Binary{Op: b.Op, X: s.Shortened(b.X), Y: s.Shortened(b.Y)}
	if b.Op != "/" {
		return short
	}
	whole := s.Parts.whole(short.X)
	if _, known := s.Parts.Named[short.String()]; whole == "" || s.Parts.Fixed && !known {
		return short
	}
	return expr.Var(s.Parts.constant(s, short, whole))
}

// Drop removes the name of a constant. The spellings that once returns then contain its value in place of its name.
func (p *Parts) Drop(c *calls.Constant) {
	maps.DeleteFunc(p.Named, func(_ string, named *calls.Constant) bool { return named == c })
	for key, e := range p.same {
		p.same[key] = expr.Substitute(e, map[string]expr.Expr{c.Name: c.Value})
	}
}

// once makes equal extents have the same spelling. Extents are equal if they have the same measure and size. It returns
// the spelling of the first extent that is equal to e, or short if e is the first or has no measure. Divisions of
// extents have no remainders, so measure may divide real numbers.
func (p *Parts) once(e, short expr.Expr, size int64) expr.Expr {
	at := measure(e)
	key := fmt.Sprintf("%.12g %d", at, size)
	if known, ok := p.same[key]; ok || math.IsNaN(at) {
		return cmp.Or(known, short)
	}
	p.same[key] = short
	return short
}

// measure returns the value of an extent if each parameter has as its value a hash of its name. It is NaN if the extent
// has operators other than +, -, * and /.
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

// whole returns the words for the dividend of a part, joined by "_": its parameters and numbers. If the dividend
// contains the constant of another part, the words of that constant's name are used. It returns an empty string if e
// has no parameters.
func (p *Parts) whole(e expr.Expr) string {
	named := false
	expr.Variables(e, func(string) { named = true })
	if !named {
		return ""
	}
	return strings.Join(p.words(e), "_")
}

// words lists the parameters and numbers of an expression. For the constant of a part, it lists the constant's name
// without its prefixes.
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

// constant returns the name of the constant of a part. It declares the constant on first use. whole contains the words
// for the dividend.
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
	for _, by := range expr.Factors(part.Y) {
		if !p.mesh[by.String()] {
			s.Shortened(expr.Op("/", part.X, by)) // also declare the slice of which this part is a shard
		}
	}
	return c.Name
}

// Wholes returns a function that rewrites products. It replaces a part times the number of parts by the whole extent,
// or by a larger part: S * D * kSliceShardM * K becomes M * K, and D * kSliceShardM becomes kSliceM.
func (p *Parts) Wholes() func(expr.Expr) expr.Expr {
	var rules []wholeRule
	for _, c := range p.List {
		part, _ := c.Value.(*expr.Binary)
		of := func(value, whole expr.Expr) {
			rules = append(rules, wholeRule{append(expr.Factors(expr.Cancel(expr.Op("/", value, part))), expr.Var(c.Name)), whole})
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
			factors := expr.Factors(e)
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

// wholeRule replaces adjacent factors by the expression that is equal to their product. The last factor is the constant
// of a part.
type wholeRule struct {
	factors []expr.Expr
	whole   expr.Expr
}

// replaced applies at each position of a list of factors the first rule that fits. A rule makes the list shorter.
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
