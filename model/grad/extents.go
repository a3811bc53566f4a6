package grad

import (
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// merge returns the extent of several axes as one axis: D and M/D give M.
func merge(axes []domain.Axis) domain.Extent {
	size := int64(1)
	var product expr.Expr = expr.Int(1)
	for _, a := range axes {
		size *= a.Size
		e, err := expr.Parse(a.Extent.String())
		if err != nil {
			return domain.Extent{Size: count(axes)}
		}
		product = expr.Fold(expr.Op("*", product, e))
	}
	return extent(expr.Compact(expr.Cancel(product)), size)
}

// plus adds extents.
func plus(x, y domain.Extent) domain.Extent {
	if x.Size == 0 {
		return y
	}
	return extent(x.String()+"+"+y.String(), x.Size+y.Size)
}

// minus subtracts extents.
func minus(x, y domain.Extent) domain.Extent {
	if y.Size == 0 {
		return x
	}
	return extent(x.String()+"-("+y.String()+")", x.Size-y.Size)
}

// extent returns an expression with its value.
func extent(text string, size int64) domain.Extent {
	e, err := expr.Parse(text)
	if err != nil {
		return domain.Extent{Size: size}
	}
	if _, plain := expr.Fold(e).(expr.Int); plain {
		return domain.Extent{Size: size}
	}
	return domain.Extent{Text: expr.Compact(e), Size: size}
}
