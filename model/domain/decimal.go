package domain

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// decimalForm matches the decimal numbers of specs. It excludes other forms that Go's parser accepts: hexadecimal digits,
// underscores, infinities, NaN, a leading plus sign, and digits after a leading 0, which other languages read as octal.
var decimalForm = regexp.MustCompile(`^-?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$`)

// A DecimalError is the reason why a text is not a decimal fp32 number, and a hint what to write.
type DecimalError struct{ Message, Hint string }

func (e *DecimalError) Error() string { return e.Message }

// IsDecimal reports whether a text has the form of a decimal number.
func IsDecimal(text string) bool { return decimalForm.MatchString(text) }

// ParseDecimal parses a decimal number and rounds it to fp32. A number that overflows fp32, or is not 0 and is rounded to
// 0, is an error. Errors are of type *DecimalError.
func ParseDecimal(text string) (float64, error) {
	if !IsDecimal(text) {
		return 0, &DecimalError{
			fmt.Sprintf("%q is no decimal number", text),
			"write digits, with a point or an exponent where needed: 8, 0.125, 1e-5; or an expression of parameters: 1/N, 1/sqrt(N)",
		}
	}
	v, _ := strconv.ParseFloat(text, 32) // infinite if it is out of range
	switch {
	case v == 0 && !isZero(text):
		v = math.SmallestNonzeroFloat64
	case math.IsInf(v, 0):
		v = math.Copysign(math.MaxFloat64, v)
	}
	return RoundDecimal(text, v)
}

// RoundDecimal rounds v, the value of a text, to fp32. It has the range errors of ParseDecimal, and an error if v is not finite.
func RoundDecimal(text string, v float64) (float64, error) {
	rounded := float64(float32(v))
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, &DecimalError{fmt.Sprintf("%s is not finite", text), "do not divide by 0, or take the square root of a negative number"}
	case math.IsInf(rounded, 0):
		return 0, &DecimalError{
			fmt.Sprintf("%s is no number that fp32 holds", text), fmt.Sprintf("the largest is %.8g", math.MaxFloat32),
		}
	case rounded == 0 && v != 0:
		return 0, &DecimalError{
			fmt.Sprintf("%s is 0 when it is rounded to fp32", text),
			fmt.Sprintf("the smallest number above 0 is %.2g; write 0 if that is meant", math.SmallestNonzeroFloat32),
		}
	}
	return rounded, nil
}

// isZero reports whether a decimal number has no digit but 0 before its exponent.
func isZero(text string) bool {
	for _, c := range text {
		switch {
		case c == 'e' || c == 'E':
			return true
		case c >= '1' && c <= '9':
			return false
		}
	}
	return true
}
