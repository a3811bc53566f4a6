package domain

import "github.com/hirgen/hirgen/internal/base/expr"

// Merge returns the extent of several axes as one axis, the product of their extents: D and M/D give M.
func Merge(axes []Axis) Extent {
	size := int64(1)
	var product expr.Expr = expr.Int(1)
	for _, a := range axes {
		size *= a.Size
		product = expr.Fold(expr.Op("*", product, a.Expr()))
	}
	return extent(expr.Compact(expr.Cancel(product)), size)
}

// Plus returns the sum of two extents.
func (e Extent) Plus(other Extent) Extent {
	if e.Size == 0 {
		return other
	}
	return extent(e.String()+"+"+other.String(), e.Size+other.Size)
}

// Minus returns the difference of two extents.
func (e Extent) Minus(other Extent) Extent {
	if other.Size == 0 {
		return e
	}
	return extent(e.String()+"-("+other.String()+")", e.Size-other.Size)
}

// extent returns the extent with an expression and its value. It leaves out the text of an expression that is a number or
// cannot be parsed.
func extent(text string, size int64) Extent {
	e, err := expr.Parse(text)
	if err != nil {
		return Extent{Size: size}
	}
	if _, plain := expr.Fold(e).(expr.Int); plain {
		return Extent{Size: size}
	}
	return Extent{Text: expr.Compact(e), Size: size}
}
