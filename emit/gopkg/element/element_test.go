package element_test

import (
	"math"
	"testing"

	"github.com/hirgen/hirgen/emit/gopkg/element"
)

// TestEveryNumberIsItself converts each 16-bit number to float32 and back. It also checks that the middle between two
// adjacent positive numbers is rounded to the even one, and the float32 numbers next to the middle to the nearest.
func TestEveryNumberIsItself(t *testing.T) {
	t.Run("bf16", func(t *testing.T) { everyNumber(t, element.ToBF16) })
	t.Run("fp16", func(t *testing.T) { everyNumber(t, element.ToFP16) })
}

func everyNumber[T interface {
	~uint16
	Float32() float32
}](t *testing.T, from func(float32) T) {
	t.Helper()
	for bits := range 1 << 15 {
		n := T(bits)
		value, next := n.Float32(), (n + 1).Float32()
		if math.IsNaN(float64(value)) {
			if back := from(value).Float32(); !math.IsNaN(float64(back)) {
				t.Fatalf("%#x is not a number and becomes %v", bits, back)
			}
			continue
		}
		if got := from(value); got != n {
			t.Fatalf("%#x is %v and becomes %#x", bits, value, got)
		}
		if got := from(-value); got != n|1<<15 {
			t.Fatalf("%#x is %v, and its negative becomes %#x", bits, value, got)
		}
		if math.IsInf(float64(value), 0) || math.IsInf(float64(next), 0) {
			continue
		}
		middle, even := (float64(value)+float64(next))/2, n+n&1
		if got := from(float32(middle)); got != even {
			t.Fatalf("%v between %#x and the next becomes %#x, want the even one", middle, bits, got)
		}
		if got := from(math.Nextafter32(float32(middle), value)); got != n {
			t.Fatalf("what is below the middle after %#x becomes %#x", bits, got)
		}
		if got := from(math.Nextafter32(float32(middle), next)); got != n+1 {
			t.Fatalf("what is above the middle after %#x becomes %#x", bits, got)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		f          float32
		bf16, fp16 uint16
	}{
		{1, 0x3f80, 0x3c00}, {-2, 0xc000, 0xc000}, {65504, 0x4780, 0x7bff}, {65520, 0x4780, 0x7c00}, {1e-8, 0x322c, 0},
		{float32(math.Inf(-1)), 0xff80, 0xfc00}, {math.MaxFloat32, 0x7f80, 0x7c00},
	} {
		if b, h := element.ToBF16(c.f), element.ToFP16(c.f); uint16(b) != c.bf16 || uint16(h) != c.fp16 {
			t.Errorf("%v: %#x and %#x, want %#x and %#x", c.f, b, h, c.bf16, c.fp16)
		}
	}
	if got := element.ToBF16(0.1).String() + " " + element.ToFP16(0.1).String(); got != "0.1001 0.099976" {
		t.Error(got)
	}
}
