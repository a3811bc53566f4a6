package expr

import (
	"math/rand/v2"
	"testing"
)

func TestCancel(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"C / 2 + C / 2", "C"},
		{"(C / 2 + C / 2) * H", "C*H"},
		{"D * (K / D)", "K"},
		{"D * (M / (S * D))", "M/S"},
		{"3 * (C / 3) + 1", "C+1"},
		{"C / 4 + N + C / 4", "C/2+N"},
		{"C + C", "2*C"},
		{"6 * C / 4", "C*3/2"},
		{"D / D", "1"},
		{"(C / 2 + C / 2 + r) % D", "(C+r)%D"},
		// Nothing cancels.
		{"M / S / D", "M/S/D"},
		{"2 * H * C", "2*H*C"},
		{"(H + 2 * G) / D * C", "(H+2*G)/D*C"},
		{"C - C", "C-C"},
		// Zero, or a product that overflows, does not cancel.
		{"0 * C / 2", "0*C/2"},
		{"9223372036854775807 * C * 2 / C", "9223372036854775807*C*2/C"},
	} {
		e, err := Parse(c.in)
		if err != nil {
			t.Fatal(err)
		}
		if got := Compact(Cancel(e)); got != c.want {
			t.Errorf("%s is %s, want %s", c.in, got, c.want)
		}
	}
}

// TestCancelKeepsValues checks that Cancel keeps the value of random expressions that have one, and that a second Cancel
// changes nothing.
func TestCancelKeepsValues(t *testing.T) {
	env := func(name string) (int64, bool) {
		value, ok := map[string]int64{"C": 24, "D": 2, "S": 3}[name]
		return value, ok
	}
	random, valued := rand.New(rand.NewPCG(1, 2)), 0
	for range 20000 {
		e := randomExtent(random, 3)
		want, err := Eval(e, env)
		if err != nil {
			continue
		}
		valued++
		short := Cancel(e)
		if got, err := Eval(short, env); err != nil || got != want {
			t.Fatalf("%s is %d, and %s is %d, %v", e, want, short, got, err)
		}
		if again := Cancel(short); again.String() != short.String() {
			t.Fatalf("%s is %s, and then %s", e, short, again)
		}
	}
	if valued < 1000 {
		t.Fatalf("%d expressions have a value", valued)
	}
}

// TestCancelDeep checks that Cancel ends for deep expressions: its time must not double with each nested level.
func TestCancelDeep(t *testing.T) {
	whole := Expr(Var("C"))
	for range maxDepth {
		whole = Op("/", Op("*", Op("+", Op("+", whole, Int(1)), Int(1)), Var("D")), Int(3))
	}
	if short := Cancel(whole); len(short.String()) >= len(whole.String()) {
		t.Errorf("%s is %s", whole, short)
	}
}

// randomExtent returns a random expression whose operations are nested at most the given number of levels deep.
func randomExtent(random *rand.Rand, levels int) Expr {
	if levels == 0 || random.IntN(4) == 0 {
		return []Expr{Var("C"), Var("D"), Var("S"), Int(2), Int(3), Int(1)}[random.IntN(6)]
	}
	op := []string{"+", "*", "/", "-", "+", "*", "/"}[random.IntN(7)]
	return Op(op, randomExtent(random, levels-1), randomExtent(random, levels-1))
}
