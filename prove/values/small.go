package values

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/prove/unroll"
)

// Load loads the model with other values of some parameters.
type Load func(params map[string]int64) (*model.Pipeline, error)

var errLarge = errors.New("it is too large to be computed")

// most limits the size of a computation: products and elements of all ranks, plus the bytes of the model's tensors. A computation at
// the limit takes some seconds.
const most = 1 << 30

// Sized is a program with parameter values at which its values can be computed, and the model with the same parameters.
type Sized struct {
	Program *unroll.Program
	Model   *model.Pipeline
	Changed []string // "K = 24": parameters whose values differ from the original program
	Cost    int64    // products and elements of all ranks, and bytes of the model's tensors
	values  map[string]int64
}

// Guess is an assumption about how the column counts of kernels, which are plain numbers in a program, change with the
// extents.
type Guess int

// The guesses.
const (
	NoColumns Guess = iota // column counts do not change
	Columns                // each column count of a launch stands for an extent that has the same value
)

// search looks for parameter values.
type search struct {
	program *calls.Program
	nodes   []int
	load    Load
	whole   *model.Pipeline
	guess   Guess
	values  map[string]int64 // changed parameters, by their names in the spec
	few     []int32          // ranks on which values are tried first; nil: all
	threes  bool             // give all values the odd factor 3, instead of different ones
	last    *model.Pipeline  // the last model that was loaded, and its values as text
	lastOf  string
	made    *unroll.Program // the last program that was unrolled on all ranks, and its values as text
	madeOf  string
}

// Small reduces each parameter that sets the size of tensors, but not the number of ranks or iterations, as far as the
// model and the program allow. The program has the same calls, with other values of expressions that depend on these
// parameters. Where possible, values have different odd factors, so that a wrong extent changes the result. If the program
// cannot be issued with such values, or is too much to compute, all have the odd factor 3. A parameter keeps its value if the
// model or the program refuses all smaller values that are tried. like may be nil, or the result for the same program on other
// nodes, whose values are tried first. Small returns an error if the program cannot be issued with any values, or is still too
// large.
func Small(p *calls.Program, nodes []int, load Load, guess Guess, like *Sized) (*Sized, error) {
	s := &search{program: p, nodes: nodes, load: load, guess: guess}
	if guess != NoColumns {
		s.program = separate(p)
	}
	var err error
	if s.whole, err = load(nil); err != nil {
		return nil, err
	}
	if like != nil {
		s.values = like.values
		if sized, err := s.sized(); err == nil {
			return sized, nil
		}
	}
	few := [][]int32{nil}
	if last := int32(len(p.Ranks())) - 1; last > 2 {
		few = [][]int32{{0, 1, last/2 + 1, last}, nil} // then all ranks, in case some rank differs from these
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

// look sets s.values to the values of the parameters that it can reduce, by their names in the spec.
func (s *search) look() {
	names := s.free()
	s.values = map[string]int64{}
	s.reduceAll(names, s.models)
	if s.unrolls(s.values, s.few) == nil { // the program depends on some value: try each value on the program, too
		s.values = map[string]int64{}
		s.reduceAll(names, func(values map[string]int64) bool { return s.models(values) && s.unrolls(values, s.few) != nil })
	}
}

// Own returns the program with its own parameter values. It returns an error if the program cannot be issued or is
// too large to be computed.
func Own(p *calls.Program, nodes []int, load Load) (*Sized, error) {
	s := &search{program: p, nodes: nodes, load: load}
	var err error
	if s.whole, err = load(nil); err != nil {
		return nil, err
	}
	return s.sized()
}

// sized returns the program with the values that were found.
func (s *search) sized() (*Sized, error) {
	p, sized := s.program, &Sized{Program: s.unrolls(s.values, nil), values: s.values}
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
	sized.Cost = cost(sized.Program) + elements(sized.Model)
	if sized.Cost > most {
		at := cmp.Or(strings.Join(sized.Changed, ", "), "its own extents")
		return nil, fmt.Errorf("%w: %d products and elements, with %s", errLarge, sized.Cost, at)
	}
	return sized, nil
}

// free lists the parameters that may change. A parameter may not if the number of ranks or of iterations of a loop depends on it.
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
	for _, d := range slices.Backward(s.program.Constants) { // each may refer to earlier ones
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

// reduceAll reduces each parameter that it can. Then it reduces pairs of unchanged parameters by the same factor,
// since one may be the extent of an axis and the other the extent of a part of that axis.
func (s *search) reduceAll(names []string, allowed func(map[string]int64) bool) {
	for i, name := range names {
		odd := int64(2*i + 3)
		if s.threes {
			odd = 3
		}
		s.reduceParameter(name, odd, allowed)
	}
	for i, one := range names {
		for _, other := range names[:i] {
			if s.values[one] == 0 && s.values[other] == 0 {
				s.reducePair(one, other, allowed)
			}
		}
	}
}

// reduceParameter gives a parameter the first allowed value below its original one. It tries odd times each power of two, then the
// powers of two. Otherwise the parameter keeps its value.
func (s *search) reduceParameter(name string, odd int64, allowed func(map[string]int64) bool) {
	for _, factor := range []int64{odd, 1} {
		for v := factor; v < s.original(name); v *= 2 {
			if s.values[name] = v; allowed(s.values) {
				return
			}
		}
	}
	delete(s.values, name)
}

func (s *search) reducePair(one, other string, allowed func(map[string]int64) bool) {
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

// original returns the value of a parameter in the original program.
func (s *search) original(name string) int64 {
	i := slices.IndexFunc(s.program.Params, func(d *calls.Param) bool { return d.Spec == name })
	return s.program.Params[i].Value
}

// models reports whether the model can be loaded with these values, and has the same operations.
func (s *search) models(values map[string]int64) bool {
	_, err := s.model(values)
	return err == nil
}

// model loads the model with other values. The operations have to be the same. Their functions keep the constants of the original
// model, such as one over the extent of an axis, because the program contains these constants.
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

// unrolls issues the program with other values on some ranks (nil: all). It returns nil if some operation cannot be issued.
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
		for _, has := range m.Params { // some values are derived from others
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
	if s.guess != NoColumns {
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

// apart gives each buffer separate memory, and drops arenas, which only contain buffers. That does not change
// results, since each read through a buffer returns a value written through the same buffer. It is needed because the
// offsets of buffers in an arena are plain numbers, which are wrong at other extents.
func apart(buffers []*calls.Buffer) (list []*calls.Buffer) {
	for _, d := range buffers {
		if !d.Arena {
			own := *d
			own.In, own.Offset = "", 0
			if own.Works != "" {
				own.Elements = expr.Int(1) // sized from the bytes that are free at the original extents
			}
			list = append(list, &own)
		}
	}
	return list
}

// valued reports whether all expressions in declarations have a value of at least 0.
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

// elements returns the bytes of the model's tensors in float64. The evaluator keeps all of them.
func elements(m *model.Pipeline) (n int64) {
	for _, t := range m.Tensors {
		size := int64(8)
		for _, extent := range domain.Shape(t.Axes) {
			size *= extent
		}
		n += size
	}
	return n
}

// cost counts the products of GEMMs and gathers on all ranks, and the elements in memory.
func cost(u *unroll.Program) (n int64) {
	for r := range u.Ranks {
		rank := &u.Ranks[r]
		for i, d := range u.Memories {
			if rank.Has[i] {
				n += elementsOf(d)
			}
		}
		for i := range rank.Ops {
			o := &rank.Ops[i]
			l, launches := u.Stmts[max(o.Stmt, 0)].(*calls.Launch)
			gathers := o.Kind == unroll.Launch && launches && l.Gathers()
			if o.Kind != unroll.Gemm && !gathers {
				continue
			}
			out, a := rank.AccessesOf(o)[0], rank.AccessesOf(o)[1]
			k := u.Layouts[a.Layout].Extents
			if gathers {
				k = k[:1]
			}
			n += u.Layouts[out.Layout].Elements() * k[len(k)-1]
		}
	}
	return n
}
