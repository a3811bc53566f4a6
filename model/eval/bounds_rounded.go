package eval

import (
	"math"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// kept selects the results of an operation that are not rounded, if their element type can represent them.
type kept int

const (
	none  kept = iota
	whole      // integers up to mostWhole that have no error before rounding: of sums and products of integers
	exact      // results that have no error before rounding: of a cast to 16 bits, which a kernel may leave out
	same       // results with errors of fp32 alone that rounding makes equal: of a cast to 8 bits, which takes place in any case
	all        // all results: elements of operands, or small integers
)

// slight is the largest error of fp32, relative to a result, with which a cast to 8 bits may be certain. Larger errors often
// decide how it rounds, and may be common to many elements: then the bounds of all elements have to show them.
const slight = 0x1p-18

// keptBy returns the selection of results that an operation does not round.
func keptBy(op *model.Op) kept {
	switch {
	case op.Kind == model.OpCast && op.Out.DType.Saturates():
		return same
	case op.Kind == model.OpCast && op.Out.DType.Epsilon() > domain.FP32.Epsilon():
		return exact
	case op.Kind == model.OpCast || op.Kind == model.OpPositions || chooses(op):
		return all
	case (op.Kind == model.OpUnary || op.Kind == model.OpBinary) && mapsIntegers(op, mostWhole):
		return whole
	}
	return none
}

// mostWhole is the largest integer for which fp32 represents the integer itself and both neighboring integers.
const mostWhole = 1<<24 - 1

// isWhole reports whether v is an integer of a size of up to mostWhole.
func isWhole(v float64) bool { return v == math.Trunc(v) && math.Abs(v) <= mostWhole }

// rounded adds to bound the error of rounding the results raw to an element type, and returns bound. leap has the part of
// each bound to which this error adds in full.
func rounded(dtype domain.DType, raw, bound, leap *Array, keeps kept) *Array {
	least := 0x1p-126
	if row := dtype.Row(); row.Least != 0 {
		least = math.Ldexp(1, row.Least)
	}
	for i, v := range raw.Data {
		e := bound.Data[i]
		if math.IsNaN(e) { // an infinite bound times 0
			e, leap.Data[i] = math.Inf(1), 0
		}
		if keeps == same && e <= slight*math.Abs(v) && dtype.Round(v-e) == dtype.Round(v+e) {
			bound.Data[i], leap.Data[i] = 0, 0
			continue
		}
		if keeps != none && (keeps == all || e == 0) && (keeps != whole || isWhole(v)) && dtype.Round(v) == v {
			bound.Data[i] = e
			continue
		}
		if v = math.Abs(v); !math.IsInf(v, 0) && !math.IsNaN(v) {
			e = math.Hypot(rest(e, leap.Data[i]), spread*(dtype.Epsilon()+0x1p-22)*max(v, least)) + leap.Data[i]
			if math.IsInf(dtype.Round(v+e), 0) { // an operation in the same kernel may read v before it overflows
				e = math.Inf(1)
			}
		}
		bound.Data[i] = e
	}
	return bound
}
