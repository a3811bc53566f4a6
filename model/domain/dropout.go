package domain

import (
	"fmt"
	"strconv"
	"strings"
)

// Dropout replaces random elements of a tensor by 0, and scales the others so that expected values stay the same. Whether
// an element is dropped depends only on P, a seed, the salt and the element's row-major index in the whole tensor. So
// every rank and every slice that has the element decides alike, and so does the backward pass.
type Dropout struct {
	P     float64 // the fraction that is dropped, 0 <= P < 1, as fp32; Apply rounds it to a multiple of 2^-16
	Salt  int64   // makes dropouts with the same seed independent
	Width int64   // columns of a row of the whole tensor: the index is row * Width + column
}

// Fn spells a dropout as the name of a function: "dropout(p=0.1 salt=0 width=4096)".
func (d Dropout) Fn() string {
	return fmt.Sprintf("dropout(p=%s salt=%d width=%d)", strconv.FormatFloat(d.P, 'g', -1, 32), d.Salt, d.Width)
}

// DropoutOf parses a text that Fn returns for a valid dropout. ok is false for other texts.
func DropoutOf(fn string) (d Dropout, ok bool) {
	if !strings.HasPrefix(fn, "dropout(") {
		return d, false // the usual case: return early, because a scan is slow
	}
	n, err := fmt.Sscanf(fn, "dropout(p=%g salt=%d width=%d)", &d.P, &d.Salt, &d.Width)
	d.P = float64(float32(d.P))
	return d, n == 3 && err == nil && fn == d.Fn() && d.Possible() && d.Width > 0
}

// least returns P in units of 2^-16, rounded. An element is dropped if its 16-bit random number is less.
func (d Dropout) least() uint32 { return uint32(float32(d.P)*65536 + 0.5) }

// Possible reports whether P is valid: at least 0, and so far below 1 that some elements stay.
func (d Dropout) Possible() bool { return d.P >= 0 && d.P < 1 && d.least() < 1<<16 }

// Scale returns the factor of the elements that stay: 1 / (1 - P), with P rounded to a multiple of 2^-16, in fp32.
func (d Dropout) Scale() float64 { return float64(1 / (1 - float32(d.least())*0x1p-16)) }

// Apply returns the element x at a row and a column of the whole tensor, scaled, or 0 if it is dropped. The generator
// makes four 32-bit words for eight elements with adjacent indices. Each element has half a word as its random number.
func (d Dropout) Apply(x float64, seed, row, column int64) float64 {
	index := uint64(row)*uint64(d.Width) + uint64(column)
	block, salt, key := index/8, uint64(d.Salt), uint64(seed)
	words := philox([4]uint32{uint32(block), uint32(block >> 32), uint32(salt), uint32(salt >> 32)}, [2]uint32{uint32(key), uint32(key >> 32)})
	if words[index%8/2]>>(16*(index%2))&0xFFFF < d.least() {
		return 0
	}
	return x * d.Scale()
}

// Of is Apply with the operands of a dropout step for an element: x, the seed, the column and, if there is a fourth
// operand, the row.
func (d Dropout) Of(operands []float64) float64 {
	row := int64(0)
	if len(operands) > 3 {
		row = int64(operands[3])
	}
	return d.Apply(operands[0], int64(operands[1]), row, int64(operands[2]))
}
