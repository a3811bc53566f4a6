package expr

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// NumberError is what Integer returns for text that is no plain decimal integer of 64 bits.
type NumberError struct {
	Text  string
	Plain string // the integer that elsewhere is written so; empty: there is none
}

// Error names the text, and how the number is written.
func (e *NumberError) Error() string {
	if e.Plain == "" {
		return fmt.Sprintf("%q is not a 64-bit integer", e.Text)
	}
	return fmt.Sprintf("%q is not a plain decimal integer; write %s", e.Text, e.Plain)
}

// Integer reads a plain decimal integer: digits, with a minus sign where it is negative. Each number has one form. What others
// read as a number, they do not all read as the same one: 010 is 8 or 10. An error is a *NumberError.
func Integer(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != text {
		return 0, &NumberError{text, plainForm(text)}
	}
	return n, nil
}

// plainForm is the plain decimal integer that a text stands for elsewhere. With a 0 in front it is taken as decimal.
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
