package element

import (
	"math"
	"strconv"
)

// An FP8E5M2 has the bits of a number with 5 bits of exponent and 2 bits of fraction: the upper half of an FP16.
type FP8E5M2 uint8

// ToFP8E5M2 returns the number nearest to f, ties to even. Beyond 57344 it returns 57344, with the sign of f.
func ToFP8E5M2(f float32) FP8E5M2 {
	bits := math.Float32bits(f)
	sign, magnitude := FP8E5M2(bits>>24&0x80), bits&0x7fffffff
	switch {
	case f != f:
		return 0x7f
	case magnitude >= 0x47600000: // 57344, the largest finite number of the type
		return sign | 0x7b
	case magnitude < 0x38800000: // subnormal numbers are multiples of 2^-16
		return sign | FP8E5M2(math.RoundToEven(math.Abs(float64(f))*(1<<16)))
	}
	return sign | FP8E5M2((magnitude-0x38000000+0xfffff+magnitude>>21&1)>>21)
}

// Float32 returns the same number as a float32, exactly.
func (v FP8E5M2) Float32() float32 {
	value := float32(v&3) / (1 << 16)
	switch magnitude := uint32(v & 0x7f); {
	case magnitude > 0x7c:
		value = float32(math.NaN())
	case magnitude == 0x7c:
		value = float32(math.Inf(1))
	case magnitude > 3:
		value = math.Float32frombits(magnitude<<21 + 0x38000000)
	}
	if v&0x80 != 0 {
		return -value
	}
	return value
}

// String prints the number with enough digits to distinguish it from other numbers of the type.
func (v FP8E5M2) String() string { return strconv.FormatFloat(float64(v.Float32()), 'g', 2, 32) }
