package expr

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePrint(t *testing.T) {
	for _, c := range []struct{ in, want, compact string }{
		{"M/(S*D)", "M / (S * D)", "M/(S*D)"},
		{"M / S / D", "M / S / D", "M/S/D"},
		{"a-(b-c)", "a - (b - c)", "a-(b-c)"},
		{"(a-b)-c", "a - b - c", "a-b-c"},
		{"(r - s) % d", "(r - s) % d", "(r-s)%d"},
		{"(D + r - s) % D == 0", "(D + r - s) % D == 0", "(D+r-s)%D==0"},
		{"((4))", "4", "4"},
		{"2 - -4", "2 - -4", "2--4"},
		{"-9223372036854775808", "-9223372036854775808", "-9223372036854775808"},
		{"\n a_1 ", "a_1", "a_1"},
		{"(a == b) == c", "a == b == c", "a==b==c"},
	} {
		e, err := Parse(c.in)
		if err != nil {
			t.Errorf("Parse(%q): %v", c.in, err)
			continue
		}
		if got := e.String(); got != c.want {
			t.Errorf("Parse(%q).String() = %q, want %q", c.in, got, c.want)
		}
		if got := Compact(e); got != c.compact {
			t.Errorf("Compact(%q) = %q, want %q", c.in, got, c.compact)
		}
		for _, text := range []string{c.want, c.compact} {
			again, err := Parse(text)
			if err != nil || !cmp.Equal(e, again) {
				t.Errorf("Parse(%q) = %v, %v: not what was printed", text, again, err)
			}
		}
	}
}

func TestBits(t *testing.T) {
	for _, c := range []struct {
		in, want string
		value    int64
	}{
		{"r ^ s", "r ^ s", 6}, {"(r ^ s) % 4", "(r ^ s) % 4", 2}, {"r ^ s + 1", "r ^ (s + 1)", 1}, {"r ^ s ^ r", "(r ^ s) ^ r", 3},
		{"(r ^ s) == 6", "(r ^ s) == 6", 1}, {"r ^ s == 3", "r ^ (s == 3)", 4}, {"r ^ (s ^ r)", "r ^ (s ^ r)", 3},
		{"(r == s) < r", "(r == s) < r", 1}, {"r == (s < r)", "r == s < r", 0}, {"1 == s < r", "1 == s < r", 1},
	} {
		e, err := ParseHost(c.in)
		if err != nil {
			t.Fatal(err)
		}
		if e.String() != c.want {
			t.Errorf("ParseHost(%q).String() = %q, want %q", c.in, e, c.want)
		}
		if again, err := ParseHost(e.String()); err != nil || !cmp.Equal(e, again) {
			t.Errorf("ParseHost(%q) = %v, %v: not what was printed", e, again, err)
		}
		value, err := Eval(e, func(name string) (int64, bool) { return map[string]int64{"r": 5, "s": 3}[name], true })
		if err != nil || value != c.value {
			t.Errorf("%s is %d, %v, want %d", e, value, err, c.value)
		}
	}
	if _, err := Parse("2 ^ 10"); err == nil {
		t.Error("a spec has 2 ^ 10, which is no power")
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct {
		in     string
		offset int
	}{
		{"", 0}, {"  ", 2}, {"M/", 2}, {"M/(S*D", 2}, {"M)", 1}, {"M S", 2}, {"4.5", 1}, {"-M", 1},
		{"M/é", 2}, {"99999999999999999999", 0}, {"a = b", 2}, {"()", 1}, {"r(K)", 1},
	} {
		_, err := Parse(c.in)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("Parse(%q) = %v, want a syntax error", c.in, err)
			continue
		}
		if syntax.Offset != c.offset {
			t.Errorf("Parse(%q): offset %d, want %d (%s)", c.in, syntax.Offset, c.offset, syntax.Msg)
		}
	}
}

func TestParseDepthIsBounded(t *testing.T) {
	text := make([]byte, 1<<20)
	for i := range text {
		text[i] = '('
	}
	for _, length := range []int{maxDepth + 1, maxLength, maxLength + 1, len(text)} {
		if _, err := Parse(string(text[:length])); err == nil {
			t.Errorf("%d parentheses parsed", length)
		}
	}
}

func TestEval(t *testing.T) {
	env := func(name string) (int64, bool) {
		v, ok := map[string]int64{"M": 10, "S": 4, "z": 0, "max": math.MaxInt64, "min": math.MinInt64}[name]
		return v, ok
	}
	for _, c := range []struct {
		in   string
		want int64
	}{
		{"M + S * 2", 18}, {"(M - S) / 3", 2}, {"(2 - S) % 3", 1}, {"(0 - 7) % 3", 2}, {"7 % -3", -2},
		{"M == 10", 1}, {"M == S", 0}, {"min + 0", math.MinInt64}, {"max * -1", -math.MaxInt64}, {"min * 1", math.MinInt64},
		{"-6 / 3", -2}, {"S - 0", 4}, {"0 - S", -4}, {"(max - 1) % max", math.MaxInt64 - 1},
	} {
		e, err := Parse(c.in)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Eval(e, env); err != nil || got != c.want {
			t.Errorf("Eval(%q) = %d, %v, want %d", c.in, got, err, c.want)
		}
	}
	for _, c := range []struct {
		in      string
		failure Failure
		msg     string
	}{
		{"2 * (M / S)", Inexact, "M / S is 10 / 4, which is not a whole number"},
		{"M / z", ZeroDivisor, "M / z divides 10 by zero"},
		{"M % z", ZeroDivisor, "M % z divides 10 by zero"},
		{"max + 1", Overflow, "max + 1 is 9223372036854775807 + 1, which does not fit in 64 bits"},
		{"min - 1", Overflow, "min - 1 is -9223372036854775808 - 1, which does not fit in 64 bits"},
		{"max * 2", Overflow, "max * 2 is 9223372036854775807 * 2, which does not fit in 64 bits"},
		{"min / -1", Overflow, "min / -1 is -9223372036854775808 / -1, which does not fit in 64 bits"},
		{"Q + 1", UnknownName, `"Q" has no value`},
	} {
		e, err := Parse(c.in)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Eval(e, env)
		var failed *EvalError
		if !errors.As(err, &failed) || failed.Failure != c.failure || failed.Msg != c.msg {
			t.Errorf("Eval(%q): %v, want %q", c.in, err, c.msg)
		}
	}
}

func TestNames(t *testing.T) {
	got := Names("M/(S*M) + $")
	want := []Name{{"M", 0}, {"S", 3}, {"M", 5}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// FuzzParse checks that a parsed expression prints as a text that parses to the same expression, and that an error has an
// offset in the text.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"M/(S*D)", "a - (b - c) % 4 == 0", "-3", "((", "1+", "é"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse(text)
		if err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len(text) {
				t.Fatalf("error %v has no place in %q", err, text)
			}
			return
		}
		again, err := Parse(e.String())
		if err != nil || !cmp.Equal(e, again) {
			t.Fatalf("%q prints as %q, which parses as %v, %v", text, e, again, err)
		}
	})
}
