package domain

// Shape lists the extents of the axes that an operation sees: all but the reduction
// axes.
func Shape(axes []Axis) []int64 {
	shape := make([]int64, 0, len(axes))
	for _, a := range axes {
		if a.Kind != Reduction {
			shape = append(shape, a.Extent.Size)
		}
	}
	return shape
}

// WithoutReductions returns the axes that an operation sees: all but the reduction
// axes.
func WithoutReductions(axes []Axis) []Axis {
	kept := make([]Axis, 0, len(axes))
	for _, a := range axes {
		if a.Kind != Reduction {
			kept = append(kept, a)
		}
	}
	return kept
}
