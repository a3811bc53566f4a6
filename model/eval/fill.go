package eval

import (
	"math"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// FillIntegers makes the inputs of a generated program whose check is exact: sparse integers from -2 to 2, 0 and 1 for a
// mask, and row numbers for the ids of a gather. An element depends on the seed, the number of the input and the
// element's row-major index in the whole tensor. The integers are so sparse that sums of products stay exact in fp32
// whatever the order of summation.
func FillIntegers(p *model.Pipeline, seed uint64) map[string]*Array {
	inputs := make(map[string]*Array, len(p.Inputs))
	contractions, fills, deviations := Contractions(p), Fills(p), Deviations(p)
	for i, t := range p.Inputs {
		a := NewArray(domain.Shape(t.Axes)...)
		key := seed ^ uint64(i+1)*0x9E3779B97F4A7C15
		density := density(contractions[t])
		for e := range a.Data {
			switch h := splitmix64(key ^ uint64(e)); {
			case isRow(t, deviations):
				a.Data[e] = row(h, deviations[t])
			case fills[t] == domain.FillMask:
				a.Data[e] = float64(h & 1)
			default:
				a.Data[e] = sparseInteger(h, density)
			}
		}
		inputs[t.Name] = a
	}
	return inputs
}

// FillNormal makes the inputs of a generated program whose check is not exact: normal values with the deviations of
// Deviations, the values of Fills, or integers for integer types. It draws them as the program does. The program computes
// logarithms and cosines in fp32, so its values may differ in the last place.
func FillNormal(p *model.Pipeline, seed uint64) map[string]*Array {
	inputs := make(map[string]*Array, len(p.Inputs))
	deviations, fills := Deviations(p), Fills(p)
	for i, t := range p.Inputs {
		a := NewArray(domain.Shape(t.Axes)...)
		key := seed ^ uint64(i+1)*0x9E3779B97F4A7C15
		for e := range a.Data {
			switch h := splitmix64(key ^ uint64(e)); {
			case isRow(t, deviations):
				a.Data[e] = row(h, deviations[t])
			case t.DType.IsInteger():
				a.Data[e] = integer(h, len(a.Data))
			case fills[t] == domain.FillMask:
				a.Data[e] = float64(h & 1)
			case fills[t] == domain.FillPositive:
				a.Data[e] = t.DType.Round(math.Abs(deviations[t]*normal(h)) + 0.25)
			default:
				a.Data[e] = t.DType.Round(deviations[t] * normal(h))
			}
		}
		inputs[t.Name] = a
	}
	return inputs
}

// Fill makes the inputs for a check, with FillIntegers if the check is exact, else with FillNormal. After FillNormal,
// it computes the inputs that a forward pass saves from the other inputs.
func Fill(p *model.Pipeline, seed uint64) map[string]*Array {
	if Exact(p) {
		return FillIntegers(p, seed)
	}
	inputs := FillNormal(p, seed)
	save(p, inputs)
	return inputs
}

// Contractions returns, for each input that GEMMs multiply, the number of terms of the longest sum of such a GEMM, times the
// lengths of later sums of its results: see domain.Contractions. It returns 1 for other inputs.
func Contractions(p *model.Pipeline) map[*model.Tensor]int64 {
	shapes := make(map[string][]domain.Extent, len(p.Tensors))
	for _, t := range p.Tensors {
		shapes[t.Name] = domain.Extents(t.Axes)
	}
	ops := make([]domain.Operation, len(p.Ops))
	for i, op := range p.Ops {
		ops[i] = domain.Operation{Kind: string(op.Kind), Fn: op.Fn, Out: op.Out.Name, Axis: op.Axis}
		for _, t := range op.In {
			ops[i].In = append(ops[i].In, t.Name)
		}
	}
	terms := domain.Contractions(ops, func(tensor string) []domain.Extent { return shapes[tensor] })
	widest := make(map[*model.Tensor]int64, len(p.Inputs))
	for _, t := range p.Inputs {
		widest[t] = 1
		if sum, ok := terms[t.Name]; ok {
			widest[t] = sum.Size
		}
	}
	return widest
}

// density returns how many of 65536 elements are not zero: 65536 * 16 / ceil(sqrt(contraction)), but at most 65536. If
// both operands have this density, at most about 256 products of a sum are not zero, whatever its length.
func density(contraction int64) uint64 {
	root := int64(1)
	for root*root < contraction {
		root++
	}
	return uint64(min(65536, 65536*16/root))
}

// sparseInteger turns a random word into 0, or with a probability of density / 65536 into 1, -1, 2 or -2.
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

// integer turns a random word into a seed if the tensor has one element. Otherwise it returns a position or an element
// of a mask: half of these are 0, the others below 256.
func integer(h uint64, elements int) float64 {
	switch {
	case elements == 1:
		return float64(h >> 40)
	case h&1 == 0:
		return 0
	default:
		return float64(h >> 56)
	}
}

// isRow reports whether an input has the ids of a gather from several rows, given the result of Deviations.
func isRow(t *model.Tensor, deviations map[*model.Tensor]float64) bool {
	return t.DType.IsInteger() && deviations[t] > 1
}

// row turns a random word into the number of one of the rows, from 0.
func row(h uint64, rows float64) float64 { return float64((h >> 32) % uint64(rows)) }

// normal turns the upper and the lower 24 bits of a random word into a normal value with the Box-Muller transform.
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
