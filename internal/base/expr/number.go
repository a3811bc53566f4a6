package expr

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// NumberError is the error of Integer if the text is not a plain decimal integer of 64 bits.
type NumberError struct {
	Text  string
	Plain string // the result of plainForm; empty if there is none
}

// Error names the text and, if there is one, the plain form of the number.
func (e *NumberError) Error() string {
	if e.Plain == "" {
		return fmt.Sprintf("%q is not a 64-bit integer", e.Text)
	}
	return fmt.Sprintf("%q is not a plain decimal integer; write %s", e.Text, e.Plain)
}

// Integer reads a plain decimal integer: digits, after a minus sign if it is negative. Each number has exactly one
// form, because some other forms are ambiguous: 010 could be 8 or 10. An error is a *NumberError.
func Integer(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != text {
		return 0, &NumberError{text, plainForm(text)}
	}
	return n, nil
}

// plainForm returns the plain decimal form of an integer in another form, such as 0x10, 1_000 or 1e3. A number with
// leading zeros is read as decimal. The result is empty if the text is not an integer of 64 bits, or is a number with a
// point or exponent of 2^53 or more.
func plainForm(text string) string {
	short := strings.NewReplacer("_", "", " ", "", "\t", "", "\n", "").Replace(text)
	for _, base := range []int{10, 0} {
		if n, err := strconv.ParseInt(short, base, 64); err == nil {
			return strconv.FormatInt(n, 10)
		}
	}
	if f, err := strconv.ParseFloat(short, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return strconv.FormatInt(int64(f), 10)
	}
	return ""
}
