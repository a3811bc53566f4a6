package values

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/lowering/prove/unroll"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// Load gives the model with other values of some parameters.
type Load func(params map[string]int64) (*model.Pipeline, error)

var errLarge = errors.New("it is too large to be computed")

// most is how many products, and elements, of all ranks are still small: some seconds.
const most = 1 << 30

// Sized is a program with values of its parameters at which it can be computed with, and the model with them.
type Sized struct {
	Program *unroll.Program
	Model   *model.Pipeline
	Changed []string // "K = 24": parameters that have other values than the program was made with
}

// search looks for values.
type search struct {
	program *calls.Program
	nodes   []int
	load    Load
	whole   *model.Pipeline
	guess   bool
	values  map[string]int64 // that are changed, by the spec's names
	few     []int32          // ranks that values are tried on first; nil: all
	threes  bool             // all values have the factor 3, and none a larger odd one
	last    *model.Pipeline  // the model that was made last, and for which values
	lastOf  string
	made    *unroll.Program // the program on all ranks that was made last, and for which values
	madeOf  string
}

// Small gives each parameter that says how large tensors are, and not how many ranks there are, a value as
// small as the model and the program allow: the same calls, of which all expressions have other values. They
// differ from each other by odd factors, so that one extent in place of another one shows, unless that is still too
// much to compute: then their odd factor is 3. A parameter keeps its value where the program was made for it. The
// columns of kernels are numbers; with guess they are the extent that has as many.
func Small(p *calls.Program, nodes []int, load Load, guess bool) (*Sized, error) {
	s := &search{program: p, nodes: nodes, load: load, guess: guess}
	var err error
	if s.whole, err = load(nil); err != nil {
		return nil, err
	}
	few := [][]int32{nil}
	if last := int32(len(p.Ranks())) - 1; last > 2 {
		few = [][]int32{{0, 1, last/2 + 1, last}, nil} // then all, if some rank is not like these
	}
	for _, s.threes = range []bool{false, true} {
		for _, s.few = range few {
			s.look()
			var sized *Sized
			if sized, err = s.sized(); err == nil {
				return sized, nil
			}
			if errors.Is(err, errLarge) {
				break
			}
		}
	}
	return nil, err
}

// look looks for values.
func (s *search) look() {
	names := s.free()
	s.values = map[string]int64{}
	s.lessenAll(names, s.models)
	if s.unrolls(s.values, s.few) == nil { // something was made for a value: look with the program
		s.values = map[string]int64{}
		s.lessenAll(names, func(values map[string]int64) bool { return s.models(values) && s.unrolls(values, s.few) != nil })
	}
}

// Own has the extents that a program was made for.
func Own(p *calls.Program, nodes []int, load Load) (*Sized, error) {
	s := &search{program: p, nodes: nodes, load: load}
	var err error
	if s.whole, err = load(nil); err != nil {
		return nil, err
	}
	return s.sized()
}

// sized is the program with the values that were found.
func (s *search) sized() (*Sized, error) {
	p, sized := s.program, &Sized{Program: s.unrolls(s.values, nil)}
	if sized.Program == nil {
		return nil, fmt.Errorf("calls cannot be issued as they stand")
	}
	var err error
	if sized.Model, err = s.model(s.values); err != nil {
		return nil, err
	}
	for i, d := range sized.Program.Calls.Params {
		if d.Value != p.Params[i].Value {
			sized.Changed = append(sized.Changed, fmt.Sprintf("%s = %d", d.Spec, d.Value))
		}
	}
	if n := cost(sized.Program); n > most {
		return nil, fmt.Errorf("%w: %d products and elements, with %s", errLarge, n, cmp.Or(strings.Join(sized.Changed, ", "), "its own extents"))
	}
	return sized, nil
}

// free lists the parameters that may change: not those that say how many ranks there are, or how often a loop
// runs.
func (s *search) free() (names []string) {
	fixed := map[string]bool{}
	fix := func(e expr.Expr) { expr.Variables(e, func(name string) { fixed[name] = true }) }
	for _, m := range s.program.Meshes {
		for _, e := range m.Extents {
			fix(e)
		}
	}
	calls.Walk(s.program.Body, func(stmt calls.Stmt) bool {
		if loop, ok := stmt.(*calls.For); ok {
			fix(loop.Count)
		}
		return true
	})
	for _, d := range slices.Backward(s.program.Constants) { // each is over those before it
		if fixed[d.Name] {
			fix(d.Value)
		}
	}
	for _, d := range s.program.Params {
		if !fixed[d.Name] {
			names = append(names, d.Spec)
		}
	}
	return names
}

// lessenAll lessens one parameter after the other, and then, of those that stay as they are, two by the same
// factor: the extents of an axis and of one that it is taken apart into.
func (s *search) lessenAll(names []string, allowed func(map[string]int64) bool) {
	for i, name := range names {
		odd := int64(2*i + 3)
		if s.threes {
			odd = 3
		}
		s.lessen(name, odd, allowed)
	}
	for i, one := range names {
		for _, other := range names[:i] {
			if s.values[one] == 0 && s.values[other] == 0 {
				s.lessenBoth(one, other, allowed)
			}
		}
	}
}

// lessen gives a parameter the smallest value that is allowed, of an odd number times powers of two or,
// where there is none, of powers of two.
func (s *search) lessen(name string, odd int64, allowed func(map[string]int64) bool) {
	for _, factor := range []int64{odd, 1} {
		for v := factor; v < s.original(name); v *= 2 {
			if s.values[name] = v; allowed(s.values) {
				return
			}
		}
	}
	delete(s.values, name)
}

func (s *search) lessenBoth(one, other string, allowed func(map[string]int64) bool) {
	for by := int64(1) << 20; by > 1; by /= 2 {
		if s.original(one)%by == 0 && s.original(other)%by == 0 {
			s.values[one], s.values[other] = s.original(one)/by, s.original(other)/by
			if allowed(s.values) {
				return
			}
		}
	}
	delete(s.values, one)
	delete(s.values, other)
}

// original is the value of a parameter that the program was made with.
func (s *search) original(name string) int64 {
	i := slices.IndexFunc(s.program.Params, func(d *calls.Param) bool { return d.Spec == name })
	return s.program.Params[i].Value
}

// models reports whether there is such a model.
func (s *search) models(values map[string]int64) bool {
	_, err := s.model(values)
	return err == nil
}

// model is the model with other values: the same operations, of which functions keep their constants, such as
// one over the extent of an axis, since the program has them as they were.
func (s *search) model(values map[string]int64) (*model.Pipeline, error) {
	of := fmt.Sprint(values)
	if s.last != nil && s.lastOf == of {
		return s.last, nil
	}
	m, err := s.load(values)
	if err != nil {
		return nil, err
	}
	if len(m.Ops) != len(s.whole.Ops) {
		return nil, fmt.Errorf("it has other operations")
	}
	for i, op := range m.Ops {
		whole := s.whole.Ops[i]
		name, _ := domain.SplitFn(op.Fn)
		if was, _ := domain.SplitFn(whole.Fn); op.Kind != whole.Kind || name != was {
			return nil, fmt.Errorf("it has other operations")
		}
		op.Fn = whole.Fn
	}
	s.last, s.lastOf = m, of
	return m, nil
}

// unrolls issues the program with other values on some ranks, nil: on all; nil: not all of it can be.
func (s *search) unrolls(values map[string]int64, ranks []int32) *unroll.Program {
	m, err := s.model(values)
	if err != nil {
		return nil
	}
	if ranks == nil && s.made != nil && s.madeOf == s.lastOf {
		return s.made
	}
	p := *s.program
	p.Params = nil
	for _, d := range s.program.Params {
		changed := *d
		for _, has := range m.Params { // some follow from others
			if has.Name == d.Spec {
				changed.Value = has.Value
			}
		}
		p.Params = append(p.Params, &changed)
	}
	p.Buffers = apart(p.Buffers)
	if !valued(&p) {
		return nil
	}
	if s.guess {
		p.Kernels = s.kernels(p.Values())
	}
	u, err := unroll.Some(&p, s.nodes, ranks)
	if err != nil || len(u.Faults) > 0 {
		return nil
	}
	if ranks == nil {
		s.made, s.madeOf = u, s.lastOf
	}
	return u
}

// apart gives each buffer memory of its own: what is read through it was written through it, so that the results are the same. Where
// buffers lie in the memory of others is a number, which is not right for other extents.
func apart(buffers []*calls.Buffer) (list []*calls.Buffer) {
	for _, d := range buffers {
		if !d.Arena {
			own := *d
			own.In, own.Offset = "", 0
			if own.Works != "" {
				own.Elements = expr.Int(1) // as many as are free at the extents of the program
			}
			list = append(list, &own)
		}
	}
	return list
}

// valued reports whether all that a program declares has a size.
func valued(p *calls.Program) bool {
	known, all := p.Values(), true
	for _, d := range p.Declarations() {
		(&calls.Rewriter{Expression: func(e expr.Expr) expr.Expr {
			v, ok := known.Eval(e)
			all = all && ok && v >= 0
			return e
		}}).Rewrite(d)
	}
	return all
}

// cost is how many products GEMMs have on all ranks, and how many elements there are.
func cost(u *unroll.Program) (n int64) {
	for r := range u.Ranks {
		rank := &u.Ranks[r]
		for i, d := range u.Memories {
			if rank.Has[i] {
				n += elementsOf(d)
			}
		}
		for i := range rank.Ops {
			if o := &rank.Ops[i]; o.Kind == unroll.Gemm {
				out, a := rank.AccessesOf(o)[0], rank.AccessesOf(o)[1]
				k := u.Layouts[a.Layout].Extents
				n += u.Layouts[out.Layout].Elements() * k[len(k)-1]
			}
		}
	}
	return n
}
