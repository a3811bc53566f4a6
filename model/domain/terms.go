package domain

import "math"

// Operation is what Contractions reads of an operation. Tensors go by name.
type Operation struct {
	Kind string // as the model spells it: "matmul", "reshape", "reduce"
	Fn   string // of a reduce
	In   []string
	Out  string
	Axis int // of a reduce: an index in the operand's Shape
}

// Terms is the length of a sum: Times, times the extent of axis Axis where that is not
// negative.
type Terms struct {
	Axis  int
	Times int64
}

// one is the sum of a number alone.
var one = Terms{Axis: -1, Times: 1}

// Of is the number of terms for a tensor of this shape, MaxInt64 where it is larger.
func (t Terms) Of(shape []int64) int64 {
	if t.Axis < 0 {
		return t.Times
	}
	return multiply(shape[t.Axis], t.Times)
}

// Contractions gives, for each tensor that a product reads, the largest number of terms
// that such a product sums, also through operations that only move its elements or name
// them anew, and together with sums that follow: the parts that ranks compute are exact in
// 16 bits only while they are small. The operations are in order, each behind what makes
// its operands; shape gives a tensor's Shape.
//
// It takes time linear in the number of operations, which it visits once, last one first.
func Contractions(ops []Operation, shape func(tensor string) []int64) map[string]Terms {
	c := &contractions{shape: shape, read: map[string]Terms{}, added: map[string]int64{}}
	for i := len(ops) - 1; i >= 0; i-- {
		c.operation(ops[i])
	}
	return c.read
}

type contractions struct {
	shape func(string) []int64
	read  map[string]Terms // by products
	added map[string]int64 // how many elements of the tensor sums add; 0 stands for 1
}

func (c *contractions) operation(op Operation) {
	switch op.Kind {
	case "matmul", "linear":
		for i := min(len(op.In), 2) - 1; i >= 0; i-- {
			axis := len(c.shape(op.In[i])) - 1
			if i == 1 && op.Kind == "matmul" {
				axis--
			}
			if axis >= 0 {
				c.raise(op.In[i], Terms{axis, c.sums(op.Out)})
			}
		}
	case "set", "reshape", "permute", "broadcast":
		if terms, ok := c.read[op.Out]; ok {
			c.raise(op.In[0], Terms{-1, terms.Of(c.shape(op.Out))})
		}
		c.added[op.In[0]] = max(c.sums(op.In[0]), c.sums(op.Out))
	case "reduce":
		if shape := c.shape(op.In[0]); op.Fn == "sum" && op.Axis < len(shape) {
			c.added[op.In[0]] = max(c.sums(op.In[0]), multiply(shape[op.Axis], c.sums(op.Out)))
		}
	}
}

// raise notes that a product reads a tensor. Of sums of one length the first one counts.
func (c *contractions) raise(tensor string, terms Terms) {
	before, ok := c.read[tensor]
	if !ok {
		before = one
	}
	if shape := c.shape(tensor); terms.Of(shape) >= before.Of(shape) {
		c.read[tensor] = terms
	}
}

func (c *contractions) sums(tensor string) int64 { return max(c.added[tensor], 1) }

// multiply multiplies numbers of at least 1, up to the largest that there is.
func multiply(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}
