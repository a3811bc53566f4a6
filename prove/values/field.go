package values

import (
	"hash/fnv"
	"math"
	"math/bits"

	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/eval"
)

// prime is the largest prime below 2^53. A float64 represents each number of the field exactly, as arrays need.
const prime = 1<<53 - 111

const low = 1<<53 - 1

func add(a, b uint64) uint64 {
	if a += b; a >= prime {
		a -= prime
	}
	return a
}

func neg(a uint64) uint64 {
	if a == 0 {
		return 0
	}
	return prime - a
}

// mul multiplies, using that 2^53 equals 111 in the field.
func mul(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	sum := (hi<<11|lo>>53)*111 + lo&low
	if sum = sum>>53*111 + sum&low; sum >= prime {
		sum -= prime
	}
	return sum
}

func pow(a, n uint64) uint64 {
	result := uint64(1)
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			result = mul(result, a)
		}
		a = mul(a, a)
	}
	return result
}

func inverse(a uint64) uint64 { return pow(a, prime-2) }

// exactly converts a float64, a whole number times a power of two, to the field.
func exactly(v float64) uint64 {
	fraction, exponent := math.Frexp(math.Abs(v))
	exponent -= 53
	power := pow(2, uint64(max(exponent, -exponent)))
	if exponent < 0 {
		power = inverse(power)
	}
	n := mul(uint64(math.Ldexp(fraction, 53))%prime, power)
	if v < 0 {
		return neg(n)
	}
	return n
}

// field computes in the field. Functions without known laws are random functions, which depend on the seed.
type field struct {
	seed     uint64
	divisor  uint64 // of the last division
	quotient uint64 // 1 / divisor
}

func newField(seed uint64) *field { return &field{seed, 1, 1} }

// numbers makes the evaluator of models compute in the field.
func (f *field) numbers() eval.Numbers {
	return eval.Numbers{
		Arithmetic:  f.arithmetic(),
		AddProducts: addProducts, Attend: f.attend, Picks: f.picks, Round: func(*eval.Array, domain.DType) {},
	}
}

func (f *field) arithmetic() domain.Arithmetic {
	return domain.Arithmetic{Unary: f.unary, Binary: f.binary, Dropout: f.dropout}
}

// dropout multiplies an element by a random function of the seed and of the element's position.
func (f *field) dropout(d domain.Dropout) func([]float64) float64 {
	return func(operands []float64) float64 {
		row := uint64(0)
		if len(operands) > 3 {
			row = uint64(operands[3])
		}
		at := add(mul(row, uint64(d.Width)), uint64(operands[2]))
		return float64(mul(uint64(operands[0]), f.random(d.Fn(), uint64(operands[1]), at)))
	}
}

// picks is a random function of an id and the number of a row. So a gather is a product with a random matrix in place
// of ones and zeros. Its result stays the same if a program splits ids or columns, or splits the rows and adds the
// partial results. Other changes change the result.
func (f *field) picks(id, row float64) float64 {
	return float64(f.random("row", uint64(id), uint64(row)))
}

// addProducts adds v times each number of row to the sum at the same index. It reduces by the prime once for each
// sum. It converts numbers as signed integers, which is faster.
func addProducts(sums []float64, v float64, row []float64) {
	by := uint64(int64(v))
	for c, w := range row {
		hi, lo := bits.Mul64(by, uint64(int64(w)))
		sum := (hi<<11|lo>>53)*111 + lo&low + uint64(int64(sums[c]))
		if sum = sum>>53*111 + sum&low; sum >= prime {
			sum -= prime
		}
		sums[c] = float64(int64(sum))
	}
}

// random returns a number of the field that depends on the seed, a name and other numbers.
func (f *field) random(name string, of ...uint64) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash never returns an error
	x := mixed(f.seed ^ mixed(h.Sum64()))
	for _, v := range of {
		x = mixed(x ^ mixed(v))
	}
	return x % prime
}

// randoms fills a list with numbers of the field that depend on the seed, a name and other numbers.
func (f *field) randoms(list []float64, name string, of ...uint64) {
	first := f.random(name, of...)
	for i := range list {
		list[i] = float64(mixed(first+uint64(i)) % prime)
	}
}

// mixed spreads the bits of a number.
func mixed(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// unary returns a function of one operand; nil if there is no such function.
func (f *field) unary(spelling string) func(float64) float64 {
	if _, casts := domain.CastOf(spelling); casts { // the field has no rounding
		return func(v float64) float64 { return v }
	}
	if domain.UnaryFn(spelling) == nil {
		return nil
	}
	name, constant := domain.SplitFn(spelling)
	by, _ := domain.ParseDecimal(constant)
	k := exactly(by)
	switch name {
	case "neg":
		return func(v float64) float64 { return float64(neg(uint64(v))) }
	case "reciprocal":
		return func(v float64) float64 { return float64(inverse(uint64(v))) }
	case "scale":
		return func(v float64) float64 { return float64(mul(uint64(v), k)) }
	case "shift":
		return func(v float64) float64 { return float64(add(uint64(v), k)) }
	}
	return func(v float64) float64 { return float64(f.random(spelling, uint64(v))) }
}

// binary returns a function of two operands, also for reductions; nil if there is no such function.
func (f *field) binary(name string) func(a, b float64) float64 {
	if domain.BinaryFn(name) == nil {
		return nil
	}
	fn := func(a, b uint64) uint64 { return f.random(name, a, b) }
	switch name {
	case "add", "sum":
		fn = add
	case "sub":
		fn = func(a, b uint64) uint64 { return add(a, neg(b)) }
	case "mul", "prod":
		fn = mul
	case "div":
		fn = f.div
	case "keep": // keeps a or returns 0, depending on b; here a times a random function of b
		fn = func(a, b uint64) uint64 { return mul(a, f.random("keep", b)) }
	case "drop":
		fn = func(a, b uint64) uint64 { return mul(a, add(1, neg(f.random("keep", b)))) }
	case "max", "min":
		fn = f.fold(name)
	}
	return func(a, b float64) float64 { return float64(fn(uint64(a), uint64(b))) }
}

// div divides. The elements of a row often have one divisor, and an inverse takes a hundred products.
func (f *field) div(a, b uint64) uint64 {
	if b != f.divisor {
		f.divisor, f.quotient = b, inverse(b)
	}
	return mul(a, f.quotient)
}

// fold returns max or min: the product of both operands plus a random number k, minus k. So the fold is associative and commutative.
// It does not distribute over other functions. Its neutral element, 1 - k, is no number that a wrong program could begin with, such as 0.
func (f *field) fold(name string) func(a, b uint64) uint64 {
	k := f.random(name)
	return func(a, b uint64) uint64 { return add(mul(add(a, k), add(b, k)), neg(k)) }
}
