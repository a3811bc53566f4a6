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

// Extents lists the same with what the spec says of them.
func Extents(axes []Axis) []Extent {
	extents := make([]Extent, 0, len(axes))
	for _, a := range axes {
		if a.Kind != Reduction {
			extents = append(extents, a.Extent)
		}
	}
	return extents
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
