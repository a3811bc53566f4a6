package model

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/domain"
)

// decimal reads a number of an attribute, rounded to fp32: a decimal number, or an expression of such numbers,
// parameters and sqrt(...). Unlike in sizes, a division need not be exact. It returns false after it has reported an
// error.
func (a *assembler) decimal(t text) (float64, bool) {
	v, err := domain.ParseDecimal(t.value)
	if err != nil {
		if tree, wrong := parser.ParseExpr(t.value); wrong == nil && !strings.Contains(t.value, "//") && !strings.Contains(t.value, "/*") {
			n := &numberReader{assembler: a, t: t, formed: true, named: true}
			if v = n.read(tree); !n.named {
				return 0, false
			}
			if n.formed {
				v, err = domain.RoundDecimal(t.value, v)
			}
		}
	}
	var fault *domain.DecimalError
	if errors.As(err, &fault) {
		a.list.Add(t.pos, diag.BadAttribute, "%s", fault.Message).WithHint("%s", fault.Hint)
	}
	return v, err == nil
}

// numberReader evaluates the expression of a number. The syntax is a subset of Go's, so Go's parser reads it.
type numberReader struct {
	*assembler
	t      text
	formed bool // the expression has only the allowed operators, numbers, names and sqrt
	named  bool // all names are parameters
}

func (n *numberReader) read(e ast.Expr) float64 {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return n.read(e.X)
	case *ast.UnaryExpr:
		n.formed = n.formed && e.Op == token.SUB
		return -n.read(e.X)
	case *ast.BinaryExpr:
		return n.apply(e.Op, n.read(e.X), n.read(e.Y))
	case *ast.BasicLit:
		v, err := strconv.ParseFloat(e.Value, 64)
		n.formed = n.formed && err == nil && domain.IsDecimal(e.Value)
		return v
	case *ast.Ident:
		v, known := n.params[e.Name]
		n.named = n.named && known
		if !known && !n.broken[e.Name] {
			d := n.list.Add(n.t.at(int(e.Pos())-1), diag.UnknownParam, "there is no parameter %q", e.Name)
			hintNearest(d, e.Name, n.paramNames())
		}
		return float64(v)
	case *ast.CallExpr:
		if fn, ok := e.Fun.(*ast.Ident); ok && fn.Name == "sqrt" && len(e.Args) == 1 {
			return math.Sqrt(n.read(e.Args[0]))
		}
	}
	n.formed = false
	return 0
}

func (n *numberReader) apply(op token.Token, x, y float64) float64 {
	switch op {
	case token.ADD:
		return x + y
	case token.SUB:
		return x - y
	case token.MUL:
		return x * y
	case token.QUO:
		return x / y
	}
	n.formed = false
	return 0
}
