package element

import (
	"math"
	"strconv"
)

// A BF16 has the bits of a bfloat16 number: the upper half of a float32.
type BF16 uint16

// ToBF16 rounds f as IEEE 754 does: to the nearest number, ties to even.
func ToBF16(f float32) BF16 {
	bits := math.Float32bits(f)
	if f != f {
		return BF16(bits>>16 | 0x40) // keep it a NaN: its fraction may have ones only in the lower half
	}
	return BF16((bits + 0x7fff + bits>>16&1) >> 16)
}

// Float32 returns the same number as a float32, exactly.
func (b BF16) Float32() float32 { return math.Float32frombits(uint32(b) << 16) }

// String prints the number with enough digits to distinguish it from other numbers of the type.
func (b BF16) String() string { return strconv.FormatFloat(float64(b.Float32()), 'g', 4, 32) }
