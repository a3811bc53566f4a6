package element

import (
	"math"
	"strconv"
)

// An FP8E4M3 has the bits of a number with 4 bits of exponent and 3 bits of fraction. It is never infinite.
type FP8E4M3 uint8

// ToFP8E4M3 returns the number nearest to f, ties to even. Beyond 448 it returns 448, with the sign of f.
func ToFP8E4M3(f float32) FP8E4M3 {
	bits := math.Float32bits(f)
	sign, magnitude := FP8E4M3(bits>>24&0x80), bits&0x7fffffff
	switch {
	case f != f:
		return 0x7f
	case magnitude >= 0x43e00000: // 448, the largest number of the type
		return sign | 0x7e
	case magnitude < 0x3c800000: // subnormal numbers are multiples of 2^-9
		return sign | FP8E4M3(math.RoundToEven(math.Abs(float64(f))*(1<<9)))
	}
	return sign | FP8E4M3((magnitude-0x3c000000+0x7ffff+magnitude>>20&1)>>20)
}

// Float32 returns the same number as a float32, exactly.
func (v FP8E4M3) Float32() float32 {
	value := float32(v&7) / (1 << 9)
	switch magnitude := uint32(v & 0x7f); {
	case magnitude == 0x7f:
		value = float32(math.NaN())
	case magnitude > 7:
		value = math.Float32frombits(magnitude<<20 + 0x3c000000)
	}
	if v&0x80 != 0 {
		return -value
	}
	return value
}

// String prints the number with enough digits to distinguish it from other numbers of the type.
func (v FP8E4M3) String() string { return strconv.FormatFloat(float64(v.Float32()), 'g', 3, 32) }
