package domain

import (
	"fmt"
	"strconv"
	"strings"
)

// Dropout puts 0 in place of elements of a tensor by chance, and scales the others so that the mean stays. Whether an
// element is left out depends on a seed, the salt and the element's row-major index in the whole tensor alone. So
// every rank and every slice that has the element decides alike, and so does the backward pass.
type Dropout struct {
	P     float64 // the share that is left out, 0 <= P < 1: fp32, and used as a multiple of 2^-16
	Salt  int64   // tells dropouts with one seed apart
	Width int64   // columns of a row of the whole tensor: the index is row * Width + column
}

// Fn spells a dropout as the name of a function: "dropout(p=0.1 salt=0 width=4096)".
func (d Dropout) Fn() string {
	return fmt.Sprintf("dropout(p=%s salt=%d width=%d)", strconv.FormatFloat(d.P, 'g', -1, 32), d.Salt, d.Width)
}

// DropoutOf reads what Fn spells.
func DropoutOf(fn string) (d Dropout, ok bool) {
	if !strings.HasPrefix(fn, "dropout(") {
		return d, false // which most functions are, and a scan takes longer than many of them
	}
	n, err := fmt.Sscanf(fn, "dropout(p=%g salt=%d width=%d)", &d.P, &d.Salt, &d.Width)
	d.P = float64(float32(d.P))
	return d, n == 3 && err == nil && fn == d.Fn() && d.Possible() && d.Width > 0
}

// least is P as a multiple of 2^-16, which random numbers of 16 bits are compared with.
func (d Dropout) least() uint32 { return uint32(float32(d.P)*65536 + 0.5) }

// Possible reports whether some elements stay.
func (d Dropout) Possible() bool { return d.P >= 0 && d.P < 1 && d.least() < 1<<16 }

// Scale is what elements that stay are multiplied by: 1 / (1 - P) of P as a multiple of 2^-16, in fp32.
func (d Dropout) Scale() float64 { return float64(1 / (1 - float32(d.least())*0x1p-16)) }

// Apply gives element x in a row and a column of the whole tensor, or 0. Its random number is half of one of the four
// words that the generator makes for the eight elements beside each other.
func (d Dropout) Apply(x float64, seed, row, column int64) float64 {
	index := uint64(row)*uint64(d.Width) + uint64(column)
	block, salt, key := index/8, uint64(d.Salt), uint64(seed)
	words := philox([4]uint32{uint32(block), uint32(block >> 32), uint32(salt), uint32(salt >> 32)}, [2]uint32{uint32(key), uint32(key >> 32)})
	if words[index%8/2]>>(16*(index%2))&0xFFFF < d.least() {
		return 0
	}
	return x * d.Scale()
}

// Of is Apply of what the operands of a dropout have for an element: x, the seed, the column and, where there are rows,
// the row.
func (d Dropout) Of(operands []float64) float64 {
	row := int64(0)
	if len(operands) > 3 {
		row = int64(operands[3])
	}
	return d.Apply(operands[0], int64(operands[1]), row, int64(operands[2]))
}
