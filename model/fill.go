package model

import (
	"math"
	"slices"

	"github.com/hirgen/hirgen/model/domain"
)

// FillIntegers makes the inputs that a generated program fills itself with for its
// check: sparse integers from -2 to 2, a function of the seed, of which input it is,
// and of the row-major index of the element in the whole tensor. They are so sparse
// that sums of products stay exact in fp32 whatever the order of summation.
func FillIntegers(p *Pipeline, seed uint64) map[string]*Array {
	inputs := make(map[string]*Array, len(p.Inputs))
	for i, t := range p.Inputs {
		a := NewArray(domain.Shape(t.Axes)...)
		key := seed ^ uint64(i+1)*0x9E3779B97F4A7C15
		density := density(Contraction(p, t))
		for e := range a.Data {
			a.Data[e] = sparseInteger(splitmix64(key^uint64(e)), density)
		}
		inputs[t.Name] = a
	}
	return inputs
}

// FillNormal makes the inputs of a generated program whose check is not exact: normal
// values with the deviations of Deviations, drawn as the program draws them. Its logarithms
// and cosines are fp32's, so that its values may differ in the last place.
func FillNormal(p *Pipeline, seed uint64) map[string]*Array {
	inputs := make(map[string]*Array, len(p.Inputs))
	deviations := Deviations(p)
	for i, t := range p.Inputs {
		a := NewArray(domain.Shape(t.Axes)...)
		key := seed ^ uint64(i+1)*0x9E3779B97F4A7C15
		for e := range a.Data {
			a.Data[e] = t.DType.Round(deviations[t] * normal(splitmix64(key^uint64(e))))
		}
		inputs[t.Name] = a
	}
	return inputs
}

// Fill makes the inputs for a check: FillIntegers where that is exact, else FillNormal.
func Fill(p *Pipeline, seed uint64) map[string]*Array {
	if Exact(p) {
		return FillIntegers(p, seed)
	}
	return FillNormal(p, seed)
}

// Contraction is the largest number of terms that a product that reads t sums, also through
// operations that only name its elements anew, and together with a sum that follows: the
// parts that ranks compute are exact in 16 bits only while they are small. It is 1 when no
// product reads t.
func Contraction(p *Pipeline, t *Tensor) int64 {
	widest := int64(1)
	for _, op := range p.Ops {
		switch op.Kind {
		case OpMatmul, OpLinear:
			if slices.Contains(op.In[:2], t) {
				shape := domain.Shape(op.In[0].Axes)
				widest = max(widest, shape[len(shape)-1]*added(p, op.Out))
			}
		case OpReshape, OpPermute, OpBroadcast:
			if op.In[0] == t {
				widest = max(widest, Contraction(p, op.Out))
			}
		default: // no product
		}
	}
	return widest
}

// added is how many elements of t a sum adds, also through operations that only name its
// elements anew; 1 when none does.
func added(p *Pipeline, t *Tensor) int64 {
	most := int64(1)
	for _, op := range p.Ops {
		switch {
		case op.In[0] != t:
		case moves(op):
			most = max(most, added(p, op.Out))
		case op.Kind == OpReduce && op.Fn == "sum":
			most = max(most, domain.Shape(t.Axes)[op.Axis]*added(p, op.Out))
		}
	}
	return most
}

// density is how many of 65536 elements are not zero: 16 / ceil(sqrt(contraction)), so
// that two operands meet in about 256 products of a sum, whatever its length.
func density(contraction int64) uint64 {
	root := int64(1)
	for root*root < contraction {
		root++
	}
	return uint64(min(65536, 65536*16/root))
}

// sparseInteger turns a random word into a value.
func sparseInteger(h, density uint64) float64 {
	if (h>>32)%65536 >= density {
		return 0
	}
	v := 1.0
	if h>>1&3 == 3 {
		v = 2
	}
	if h&1 != 0 {
		v = -v
	}
	return v
}

// normal turns the two halves of a random word into a normal value, by Box and Muller.
func normal(h uint64) float64 {
	u := (float64(h>>40) + 1) * 0x1p-24   // (0, 1]
	turn := float64(h&0xFFFFFF) * 0x1p-24 // [0, 1)
	return math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*turn)
}

// splitmix64 mixes z so that every bit of the result depends on every bit of z.
func splitmix64(z uint64) uint64 {
	z += 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}
