package domain

import (
	"math"
	"slices"
)

// Terms is the number of terms of a sum. Size is the product of Factors, which are all greater than 1. For a product above
// MaxInt64, Size and the only factor are MaxInt64.
type Terms struct {
	Size    int64
	Factors []Extent
}

// one is the length of a sum with a single term.
var one = Terms{Size: 1}

// times returns the product of a length and factors. If it exceeds MaxInt64, it returns MaxInt64: see Terms.
func (t Terms) times(factors ...Extent) Terms {
	for _, f := range factors {
		switch {
		case f.Size <= 1:
		case t.Size > math.MaxInt64/f.Size:
			return Terms{math.MaxInt64, []Extent{{Size: math.MaxInt64}}}
		default:
			t = Terms{t.Size * f.Size, append(slices.Clip(t.Factors), f)}
		}
	}
	return t
}

// Contractions returns, for each tensor that GEMMs multiply, directly or after operations that only move elements, the
// number of terms of the longest sum in such a GEMM. If later operations sum the GEMM's results, it multiplies this
// number by the lengths of their sums, because partial sums of ranks are exact in 16 bits only while they are small.
// ops are in program order. shape returns the extents of a tensor's logical axes.
//
// Contractions visits each operation once, from the last to the first.
func Contractions(ops []Operation, shape func(tensor string) []Extent) map[string]Terms {
	c := &contractions{shape: shape, read: map[string]Terms{}, added: map[string]Terms{}}
	for i := len(ops) - 1; i >= 0; i-- {
		c.operation(ops[i])
	}
	return c.read
}

type contractions struct {
	shape func(string) []Extent
	read  map[string]Terms // for each tensor that GEMMs multiply, the longest sum
	added map[string]Terms // how many elements of a tensor later sums add; one if there is no entry
}

func (c *contractions) operation(op Operation) {
	switch op.Kind {
	case "matmul", "linear", "block_linear":
		for i := min(len(op.In), 2) - 1; i >= 0; i-- {
			shape := c.shape(op.In[i])
			axis := len(shape) - 1
			if i == 1 && op.Kind == "matmul" {
				axis--
			}
			if axis >= 0 {
				c.raise(op.In[i], one.times(shape[axis]).times(c.sums(op.Out).Factors...))
			}
		}
	case "set", "reshape", "permute", "broadcast", "slice", "concat", "gather":
		for _, in := range op.In {
			if terms, ok := c.read[op.Out]; ok {
				c.raise(in, terms)
			}
			c.add(in, c.sums(op.Out))
		}
	case "reduce":
		if shape := c.shape(op.In[0]); op.Fn == "sum" && op.Axis < len(shape) {
			c.add(op.In[0], one.times(shape[op.Axis]).times(c.sums(op.Out).Factors...))
		}
	}
}

// raise records that a GEMM with sums of the given length multiplies a tensor. For equal lengths it keeps the last call, which
// is for the first GEMM in program order.
func (c *contractions) raise(tensor string, terms Terms) {
	if terms.Size >= c.read[tensor].Size {
		c.read[tensor] = terms
	}
}

// add records that sums of the given length add elements of a tensor.
func (c *contractions) add(tensor string, terms Terms) {
	if terms.Size > c.sums(tensor).Size {
		c.added[tensor] = terms
	}
}

func (c *contractions) sums(tensor string) Terms {
	if terms, ok := c.added[tensor]; ok {
		return terms
	}
	return one
}
