package element

import (
	"math"
	"strconv"
)

// A BF16 is a bfloat16 number, by its bits: a float32 without the lower half.
type BF16 uint16

// ToBF16 is the number nearest to f, the even one of two.
func ToBF16(f float32) BF16 {
	bits := math.Float32bits(f)
	if f != f {
		return BF16(bits>>16 | 0x40) // what is cut off may be all that makes it a NaN
	}
	return BF16((bits + 0x7fff + bits>>16&1) >> 16)
}

// Float32 is the same number, exactly.
func (b BF16) Float32() float32 { return math.Float32frombits(uint32(b) << 16) }

// String spells the number with the digits that tell it from others.
func (b BF16) String() string { return strconv.FormatFloat(float64(b.Float32()), 'g', 4, 32) }
