package expr

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// spellings maps texts that are not plain integers to their plain form, or to "" if they are not 64-bit integers.
var spellings = map[string]string{
	"010": "10", "00": "0", "-0": "0", "-010": "-10", "0x10": "16", "0b11": "3", "0o17": "15", "1_000": "1000", "1e3": "1000",
	"8.0": "8", "8.": "8", " 1": "1", "1 ": "1", "\t1": "1", "+1": "1", "- 1": "-1", "+010": "10",
	// Not 64-bit integers.
	"": "", "-": "", "1.5": "", "4d": "", "1e400": "", "9223372036854775808": "", "١": "",
}

func TestIntegersArePlain(t *testing.T) {
	for text, plain := range spellings {
		var number *NumberError
		if n, err := Integer(text); !errors.As(err, &number) || number.Plain != plain || !strings.Contains(err.Error(), plain) {
			t.Errorf("Integer(%q) = %d, %v, want an error that says %q", text, n, err, plain)
		}
		e, err := Parse(text)
		if err == nil {
			t.Errorf("Parse(%q) = %v", text, e)
		}
		var syntax *SyntaxError
		if plain != "" && (!errors.As(err, &syntax) || syntax.Plain != plain) {
			t.Errorf("Parse(%q): %v, want an error that says %q", text, err, plain)
		}
	}
}

// TestNumbersOfExpressionsArePlain checks that a number within an expression must be plain, and that the error has the
// offset of the number.
func TestNumbersOfExpressionsArePlain(t *testing.T) {
	for _, c := range []struct {
		in, plain string
		offset    int
	}{{"M / 010", "10", 4}, {"2 * (M + 0x10)", "16", 9}, {"M-+1", "1", 2}, {"1e3*M", "1000", 0}, {"(-08)", "-8", 1}} {
		_, err := Parse(c.in)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || syntax.Plain != c.plain || syntax.Offset != c.offset {
			t.Errorf("Parse(%q): %+v, want %q at %d", c.in, err, c.plain, c.offset)
		}
		if _, err := ParseHost(c.in); err == nil {
			t.Errorf("ParseHost(%q) reads it", c.in)
		}
	}
}

// TestIntegersRoundTrip checks that each random text that Integer or Parse reads as a number is the text that the number
// prints.
func TestIntegersRoundTrip(t *testing.T) {
	random, read := rand.New(rand.NewPCG(3, 4)), 0
	const letters = "0123456789012345678900--+_ xe.b"
	for range 50000 {
		text := make([]byte, 1+random.IntN(6))
		for i := range text {
			text[i] = letters[random.IntN(len(letters))]
		}
		n, err := Integer(string(text))
		if err == nil && strconv.FormatInt(n, 10) != string(text) {
			t.Fatalf("%q is read as %d", text, n)
		}
		e, parseErr := Parse(string(text))
		if number, plain := e.(Int); parseErr == nil && plain != (err == nil) || plain &&
			(int64(number) != n || number.String() != string(text)) {
			t.Fatalf("%q is the expression %v, and the number %d, %v", text, e, n, err)
		}
		if err == nil {
			read++
		}
	}
	if read < 2000 {
		t.Fatalf("%d numbers were read", read)
	}
}
