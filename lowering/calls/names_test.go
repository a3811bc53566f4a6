package calls

import (
	"regexp"
	"testing"
)

func TestNamesAreNaturalAndUnique(t *testing.T) {
	n := newNames()
	for _, c := range []struct{ want, got string }{
		{"A", n.local("A")},
		{"A2", n.local("A")},
		{"A3", n.local("A")},
		{"A1", n.local("A1")},
		{"A1_2", n.local("A1")},
		{"int2_2", n.local("int2")}, // a CUDA type
		{"class2", n.local("class")},
		{"table2", n.local("table")},
		{"caller2", n.local("caller")},
		{"NULL2", n.local("NULL")},
		{"A_all_", n.member("A_all")},
		{"A_all2_", n.member("A_all")},
		{"compute2_", n.member("compute")},
		{"kGather", n.constant("gather")},
		{"kWorkerDone", n.constant("worker_done")},
		{"kWorkerDone2", n.constant("worker_done")},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}

func TestReleasedNamesComeBack(t *testing.T) {
	n := newNames()
	outer, inner := n.local("s"), n.local("s")
	n.release("s", inner)
	if again := n.local("s"); again != inner {
		t.Errorf("the second inner loop variable is %s, want %s", again, inner)
	}
	n.release("s", outer)
	if again := n.local("s"); again != outer {
		t.Errorf("the second outer loop variable is %s, want %s", again, outer)
	}
}

var allowed = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9]|_[A-Za-z0-9])*$`)

func TestIdentifierAllowsNothingElse(t *testing.T) {
	for text, want := range map[string]string{
		"x_y":             "x_y",
		"__reserved":      "reserved",
		"_Upper":          "Upper",
		"a__b":            "a_b",
		"trailing_":       "trailing",
		"9lives":          "v9lives",
		"":                "v",
		"A;system(\"x\")": "A_system_x",
		"Größe":           "Gr_e",
		"a\nb":            "a_b",
	} {
		if got := identifier(text); got != want {
			t.Errorf("identifier(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzIdentifier(f *testing.F) {
	f.Add("A_all")
	f.Add("__x__")
	f.Add("\\u0041")
	f.Fuzz(func(t *testing.T, text string) {
		if got := newNames().local(text); !allowed.MatchString(got) {
			t.Errorf("local(%q) = %q", text, got)
		}
		if got := newNames().member(text); !allowed.MatchString(got[:len(got)-1]) {
			t.Errorf("member(%q) = %q", text, got)
		}
	})
}

func TestProgramNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"ag_matmul": true, "mlp2": true, "A": true,
		"": false, "../x": false, "main": false, "abi": false, "a b": false, "a;b": false, "_x": false, "x_": false, "a__b": false, "2x": false,
		"a.b": false, "${X}": false, "é": false,
	} {
		if IsProgramName(name) != ok {
			t.Errorf("IsProgramName(%q) = %v", name, !ok)
		}
	}
}

func TestManyNamesTakeLinearTime(t *testing.T) {
	n := newNames()
	for range 200_000 { // quadratic work would take minutes
		n.local("T")
	}
	if got := n.local("T"); got != "T200001" {
		t.Errorf("the next one is %s", got)
	}
}
