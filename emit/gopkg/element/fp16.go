package element

import (
	"math"
	"strconv"
)

// An FP16 has the bits of an IEEE half-precision number.
type FP16 uint16

// ToFP16 rounds f to the nearest number, ties to even. From 65520 on, with either sign, the result is infinite.
func ToFP16(f float32) FP16 {
	bits := math.Float32bits(f)
	sign, magnitude := FP16(bits>>16&0x8000), bits&0x7fffffff
	switch {
	case f != f:
		return sign | 0x7e00
	case magnitude >= 0x477ff000: // 65520, from which on numbers round to infinity
		return sign | 0x7c00
	case magnitude < 0x38800000: // subnormal numbers are multiples of 2^-24
		return sign | FP16(math.RoundToEven(math.Abs(float64(f))*(1<<24)))
	}
	return sign | FP16((magnitude-0x38000000+0xfff+magnitude>>13&1)>>13)
}

// Float32 returns the same number as a float32, exactly.
func (h FP16) Float32() float32 {
	exponent, fraction := h>>10&0x1f, h&0x3ff
	value := float32(fraction) / (1 << 24)
	switch exponent {
	case 0:
	case 0x1f:
		value = math.Float32frombits(0x7f800000 | uint32(fraction)<<13)
	default:
		value = math.Float32frombits((uint32(exponent)+112)<<23 | uint32(fraction)<<13)
	}
	if h&0x8000 != 0 {
		return -value
	}
	return value
}

// String prints the number with enough digits to distinguish it from other numbers of the type.
func (h FP16) String() string { return strconv.FormatFloat(float64(h.Float32()), 'g', 5, 32) }
