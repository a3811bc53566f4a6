package expr

import (
	"fmt"
	"math"
	"math/bits"
)

// Failure is the reason why an expression has no value.
type Failure int

// The failures. UnknownName is a name without a value.
const (
	UnknownName Failure = iota
	Overflow            // beyond 64 bits
	ZeroDivisor         // "/" or "%" by zero
	Inexact             // "/" with a remainder
)

// EvalError is the error of Eval if an expression has no value.
type EvalError struct {
	Failure Failure
	Expr    Expr // the smallest part that failed
	Msg     string
}

func (e *EvalError) Error() string { return e.Msg }

// Eval computes an expression. env returns the value of a name, or false if it has none. An error is an *EvalError. A
// comparison is 1 or 0.
func Eval(e Expr, env func(name string) (int64, bool)) (int64, error) {
	switch e := e.(type) {
	case Int:
		return int64(e), nil
	case Var:
		if v, ok := env(string(e)); ok {
			return v, nil
		}
		return 0, &EvalError{UnknownName, e, fmt.Sprintf("%q has no value", string(e))}
	case *Binary:
		x, err := Eval(e.X, env)
		if err != nil {
			return 0, err
		}
		y, err := Eval(e.Y, env)
		if err != nil {
			return 0, err
		}
		return apply(e, x, y)
	default:
		panic(fmt.Sprintf("expr: unknown expression %T", e))
	}
}

func apply(e *Binary, x, y int64) (int64, error) {
	var v int64
	ok := true
	switch e.Op {
	case "==":
		if x == y {
			v = 1
		}
	case "!=":
		if x != y {
			v = 1
		}
	case "<":
		if x < y {
			v = 1
		}
	case ">=":
		if x >= y {
			v = 1
		}
	case "+":
		v, ok = add(x, y)
	case "-":
		v = x - y
		ok = (v < x) == (y > 0)
	case "^":
		v = x ^ y
	case "*":
		v, ok = mul(x, y)
	case "/", "%":
		return divide(e, x, y)
	default:
		panic("expr: unknown operator " + e.Op)
	}
	if !ok {
		return 0, &EvalError{Overflow, e, fmt.Sprintf("%s is %d %s %d, which does not fit in 64 bits", e, x, e.Op, y)}
	}
	return v, nil
}

func divide(e *Binary, x, y int64) (int64, error) {
	switch {
	case y == 0:
		return 0, &EvalError{ZeroDivisor, e, fmt.Sprintf("%s divides %d by zero", e, x)}
	case x == math.MinInt64 && y == -1:
		return 0, &EvalError{Overflow, e, fmt.Sprintf("%s is %d %s -1, which does not fit in 64 bits", e, x, e.Op)}
	case e.Op == "%":
		v := x % y
		if v != 0 && (v < 0) != (y < 0) {
			v += y // The result has the sign of the divisor, so that (r - s) % d is a rank.
		}
		return v, nil
	case x%y != 0:
		return 0, &EvalError{Inexact, e, fmt.Sprintf("%s is %d / %d, which is not a whole number", e, x, y)}
	default:
		return x / y, nil
	}
}

func add(x, y int64) (int64, bool) {
	v := x + y
	return v, (v > x) == (y > 0)
}

func mul(x, y int64) (int64, bool) {
	hi, lo := bits.Mul64(magnitude(x), magnitude(y))
	negative := (x < 0) != (y < 0)
	switch {
	case hi != 0:
		return 0, false
	case negative && lo <= 1<<63:
		return -int64(lo), true // also right for lo == 1<<63, the least int64
	case !negative && lo < 1<<63:
		return int64(lo), true
	default:
		return 0, false
	}
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

// Mul returns x * y, and reports whether it fits in 64 bits.
func Mul(x, y int64) (int64, bool) { return mul(x, y) }

// Add returns x + y, and reports whether it fits in 64 bits.
func Add(x, y int64) (int64, bool) { return add(x, y) }
