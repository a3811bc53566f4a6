package domain

import (
	"fmt"
	"strings"

	"github.com/hirgen/hirgen/internal/base/expr"
)

// Shape returns the sizes of the axes on which an operation works: all axes except the reduction axes.
func Shape(axes []Axis) []int64 {
	shape := make([]int64, 0, len(axes))
	for _, a := range axes {
		if a.Kind != Reduction {
			shape = append(shape, a.Size)
		}
	}
	return shape
}

// Extents is Shape for extents with their expressions.
func Extents(axes []Axis) []Extent {
	extents := make([]Extent, 0, len(axes))
	for _, a := range axes {
		if a.Kind != Reduction {
			extents = append(extents, a.Extent)
		}
	}
	return extents
}

// WithoutReductions returns the axes on which an operation works: all axes except the reduction axes.
func WithoutReductions(axes []Axis) []Axis {
	kept := make([]Axis, 0, len(axes))
	for _, a := range axes {
		if a.Kind != Reduction {
			kept = append(kept, a)
		}
	}
	return kept
}

// FormatShape prints a shape: "[4, 512]".
func FormatShape(shape []int64) string {
	return strings.ReplaceAll(fmt.Sprint(shape), " ", ", ")
}

// Elements returns the number of elements of a shape. It returns false if the number does not fit in an int64.
func Elements(shape []int64) (int64, bool) {
	n := int64(1)
	for _, extent := range shape {
		product, ok := expr.Mul(n, extent)
		if !ok {
			return 0, false
		}
		n = product
	}
	return n, true
}
