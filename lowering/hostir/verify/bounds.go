package verify

import (
	"math"
	"math/bits"
	"slices"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// bounds computes an interval that contains all values of an expression over all ranks and iterations. The interval may
// be wider than necessary.
type bounds struct {
	names map[string]interval // the values of parameters, the rank, and the variables of the enclosing loops
}

type interval struct{ low, high int64 }

func newBounds(p *hostir.Program) *bounds {
	b := &bounds{names: map[string]interval{}}
	for _, param := range p.Params {
		b.names[param.Name] = interval{param.Value, param.Value}
	}
	low, high := int64(0), int64(0)
	for i, m := range p.Meshes {
		for j, r := range m.Ranks {
			if i == 0 && j == 0 {
				low, high = int64(r), int64(r)
			}
			low, high = min(low, int64(r)), max(high, int64(r))
		}
	}
	b.names["rank"] = interval{low, high}
	return b
}

// each visits the value of e on each rank in each iteration, until visit returns false. It returns false if ranks and iterations
// are too many to visit, or if e has no value in one of them.
func (b *bounds) each(e expr.Expr, ranks []int, visit func(rank int, value int64) bool) bool {
	const most = 1 << 20
	env, count := map[string]int64{}, int64(len(ranks))
	var free []string
	for _, name := range variables(e) {
		i := b.names[name]
		env[name] = i.low
		if name != "rank" && i.low < i.high {
			free = append(free, name)
			count *= i.high - i.low + 1
		}
		if count > most {
			return false
		}
	}
	for _, rank := range ranks {
		env["rank"] = int64(rank)
		for more := true; more; more = b.step(env, free) {
			value, err := expr.Eval(e, func(name string) (int64, bool) { v, ok := env[name]; return v, ok })
			if err != nil {
				return false
			}
			if !visit(rank, value) {
				return true
			}
		}
	}
	return true
}

// step advances the free variables to their next values. After the last values it resets them to the first ones and returns
// false.
func (b *bounds) step(env map[string]int64, free []string) bool {
	for _, name := range free {
		if env[name]++; env[name] <= b.names[name].high {
			return true
		}
		env[name] = b.names[name].low
	}
	return false
}

// variables lists the names in e, without duplicates.
func variables(e expr.Expr) []string {
	switch e := e.(type) {
	case expr.Var:
		return []string{string(e)}
	case *expr.Binary:
		names := append(variables(e.X), variables(e.Y)...)
		slices.Sort(names)
		return slices.Compact(names)
	default:
		return nil
	}
}

// of returns the interval of e, or the first name in e that has no value.
func (b *bounds) of(e expr.Expr) (value interval, unknown string) {
	switch e := e.(type) {
	case expr.Int:
		return interval{int64(e), int64(e)}, ""
	case expr.Var:
		i, ok := b.names[string(e)]
		if !ok {
			return interval{}, string(e)
		}
		return i, ""
	case *expr.Binary:
		x, unknown := b.of(e.X)
		if unknown != "" {
			return x, unknown
		}
		y, unknown := b.of(e.Y)
		if unknown != "" {
			return y, unknown
		}
		return combine(e.Op, x, y), ""
	default:
		return interval{}, ""
	}
}

func combine(op string, x, y interval) interval {
	switch op {
	case "==", "!=", "<", ">=":
		return interval{0, 1}
	case "+":
		return interval{x.low + y.low, x.high + y.high}
	case "-":
		return interval{x.low - y.high, x.high - y.low}
	case "*":
		return hull(x.low*y.low, x.low*y.high, x.high*y.low, x.high*y.high)
	case "%":
		if y.low < 1 { // a zero divisor is a separate error when the program runs
			return interval{0, max(y.high-1, 0)}
		}
		if x.low >= 0 && x.high < y.low {
			return x
		}
		return interval{0, y.high - 1}
	case "^":
		if x.low < 0 || y.low < 0 {
			return interval{math.MinInt64, math.MaxInt64}
		}
		return interval{0, int64(1)<<bits.Len64(uint64(max(x.high, y.high))) - 1}
	default: // "/", exact
		if y.low < 1 {
			return hull(x.low, x.high, -x.low, -x.high)
		}
		return hull(x.low/y.low, x.low/y.high, x.high/y.low, x.high/y.high)
	}
}

func hull(values ...int64) interval {
	i := interval{values[0], values[0]}
	for _, v := range values {
		i = interval{min(i.low, v), max(i.high, v)}
	}
	return i
}
