package emit

import (
	"math"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/model/domain"
)

// unaryFn prints a function of one operand as an argument of launch_unary. ok is false if there is no such function.
func unaryFn(spelling string) (text string, ok bool) {
	name, constant := domain.SplitFn(spelling)
	kind := "hirgen::UnaryFn::" + domain.Enumerator(name)
	if constant != "" {
		kind = braces(kind, floatLiteral(constant))
	}
	return kind, spelling == domain.Copy || domain.UnaryFn(spelling) != nil
}

// floatLiteral spells a decimal number as an fp32 constant of C++. It spells a subnormal number in hexadecimal,
// because some compilers warn about decimal digits that they round there.
func floatLiteral(number string) string {
	if v, err := strconv.ParseFloat(number, 32); err == nil && v != 0 && math.Abs(v) < smallestNormal {
		return strconv.FormatFloat(v, 'x', -1, 32) + "F"
	}
	if !strings.ContainsAny(number, ".e") {
		number += ".0"
	}
	return number + "F"
}

// smallestNormal is the smallest positive normal fp32 number.
const smallestNormal = 0x1p-126

// decimal prints a number with at most six significant digits, and 0 as an empty text.
func decimal(v float64) string {
	if v == 0 {
		return ""
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}
