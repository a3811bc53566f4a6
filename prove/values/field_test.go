package values

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestField compares the field with arithmetic of big numbers.
func TestField(t *testing.T) {
	p := big.NewInt(prime)
	if !p.ProbablyPrime(20) {
		t.Fatal("it is no prime")
	}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 10000 {
		a, b := r.Uint64N(prime), r.Uint64N(prime)
		if i < 4 {
			a, b = prime-1-uint64(i%2), prime-1-uint64(i/2)
		}
		x, y := new(big.Int).SetUint64(a), new(big.Int).SetUint64(b)
		if want := new(big.Int).Mul(x, y); mul(a, b) != want.Mod(want, p).Uint64() {
			t.Fatalf("%d * %d is %d", a, b, mul(a, b))
		}
		if want := new(big.Int).Add(x, y); add(a, b) != want.Mod(want, p).Uint64() {
			t.Fatalf("%d + %d is %d", a, b, add(a, b))
		}
		if add(a, neg(a)) != 0 || a > 0 && mul(a, inverse(a)) != 1 {
			t.Fatalf("%d has no negative or no inverse", a)
		}
	}
}

// TestExactly checks that the field gives the same results as float64 where float64 does not round.
func TestExactly(t *testing.T) {
	for _, v := range []float64{0.5, -0.125, 3, 1.0 / 3, -1e-5, 0x1p60} {
		if mul(exactly(v), exactly(8)) != exactly(8*v) || add(exactly(v), exactly(-v)) != 0 {
			t.Errorf("%v is %d", v, exactly(v))
		}
	}
}

// TestLaws checks that functions obey the laws that a reduction in any order and in parts needs, but not laws that hide mistakes.
func TestLaws(t *testing.T) {
	f := newField(1)
	for _, name := range []string{"sum", "prod", "max", "min"} {
		fn := f.binary(name)
		if fn(fn(3, 5), fn(7, 9)) != fn(9, fn(5, fn(7, 3))) {
			t.Errorf("%s depends on the order", name)
		}
		if fn(3, fn(5, 5)) == fn(3, 5) || fn(3, 5) == fn(3, 6) {
			t.Errorf("%s does not see an operand that is there twice, or is another one", name)
		}
	}
	if f.binary("max")(3, 5) == f.binary("min")(3, 5) ||
		f.binary("max")(f.binary("min")(3, 5), 7) == f.binary("max")(3, f.binary("min")(5, 7)) {
		t.Error("max and min are mixed up")
	}
	if f.unary("gelu")(3) == f.unary("silu")(3) || f.unary("gelu")(3) == newField(2).unary("gelu")(3) ||
		f.unary("gelu")(3) != f.unary("gelu")(3) {
		t.Error("gelu is not a random function of its own")
	}
	if f.unary("nonsense") != nil || f.binary("nonsense") != nil {
		t.Error("a function that there is not has a value")
	}
	if f.unary("scale(0.5)")(f.binary("add")(3, 5)) != 4 {
		t.Error("scale is not linear")
	}
}

// TestAddProducts compares products that are added with one reduction with separate products and sums.
func TestAddProducts(t *testing.T) {
	f := newField(3)
	numbers := append(make([]float64, 0, 40), 0, 1, 2, prime-1, prime-2, 1<<52)
	more := make([]float64, 30)
	f.randoms(more, "numbers")
	numbers = append(numbers, more...)
	for _, v := range numbers {
		for _, w := range numbers {
			sums := append([]float64{}, numbers...)
			for i := range sums {
				addProducts(sums[i:i+1], v, []float64{w})
				if want := add(uint64(numbers[i]), mul(uint64(v), uint64(w))); uint64(sums[i]) != want {
					t.Fatalf("%v + %v * %v = %v, want %v", numbers[i], v, w, sums[i], want)
				}
			}
		}
	}
}
