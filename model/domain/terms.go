package domain

import (
	"math"
	"slices"
)

// Operation is what Contractions reads of an operation. Tensors go by name.
type Operation struct {
	Kind string // as the model spells it: "matmul", "reshape", "reduce"
	Fn   string // of a reduce
	In   []string
	Out  string
	Axis int // of a reduce: an index in the operand's shape
}

// Terms is the length of a sum: Size, the product of Factors, none of which is 1. Where that is
// more than MaxInt64 it is MaxInt64.
type Terms struct {
	Size    int64
	Factors []Extent
}

// one is the sum of a number alone.
var one = Terms{Size: 1}

// times is so many sums of so many terms.
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

// Contractions gives, for each tensor that a product reads, the largest number of terms
// that such a product sums, also through operations that only move its elements or name
// them anew, and together with sums that follow: the parts that ranks compute are exact in
// 16 bits only while they are small. The operations are in order, each behind what makes
// its operands; shape gives the extents of a tensor's logical axes.
//
// It takes time linear in the number of operations, which it visits once, last one first.
func Contractions(ops []Operation, shape func(tensor string) []Extent) map[string]Terms {
	c := &contractions{shape: shape, read: map[string]Terms{}, added: map[string]Terms{}}
	for i := len(ops) - 1; i >= 0; i-- {
		c.operation(ops[i])
	}
	return c.read
}

type contractions struct {
	shape func(string) []Extent
	read  map[string]Terms // by products
	added map[string]Terms // how many elements of the tensor sums add; where it is none, one
}

func (c *contractions) operation(op Operation) {
	switch op.Kind {
	case "matmul", "linear":
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
	case "set", "reshape", "permute", "broadcast", "slice", "concat":
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

// raise notes that a product reads a tensor. Of sums of one length the first one counts.
func (c *contractions) raise(tensor string, terms Terms) {
	if terms.Size >= c.read[tensor].Size {
		c.read[tensor] = terms
	}
}

// add notes that sums add so many elements of a tensor.
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
