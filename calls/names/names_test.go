package names

import (
	"regexp"
	"testing"
)

func TestNamesAreNaturalAndUnique(t *testing.T) {
	n := NewTable()
	for _, c := range []struct{ want, got string }{
		{"A", n.Local("A")},
		{"A2", n.Local("A")},
		{"A3", n.Local("A")},
		{"A1", n.Local("A1")},
		{"A1_2", n.Local("A1")},
		{"int2_2", n.Local("int2")}, // a CUDA type
		{"class2", n.Local("class")},
		{"v_cudaMalloc", n.Local("cudaMalloc")},
		{"table2", n.Local("table")},
		{"caller2", n.Local("caller")},
		{"NULL2", n.Local("NULL")},
		{"A_all_", n.Member("A_all")},
		{"A_all2_", n.Member("A_all")},
		{"compute2_", n.Member("compute")},
		{"kGather", n.Constant("gather")},
		{"kWorkerDone", n.Constant("worker_done")},
		{"kWorkerDone2", n.Constant("worker_done")},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}

func TestReleasedNamesComeBack(t *testing.T) {
	n := NewTable()
	outer, inner := n.Local("s"), n.Local("s")
	n.Release("s", inner)
	if again := n.Local("s"); again != inner {
		t.Errorf("the second inner loop variable is %s, want %s", again, inner)
	}
	n.Release("s", outer)
	if again := n.Local("s"); again != outer {
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
		if got := NewTable().Local(text); !allowed.MatchString(got) {
			t.Errorf("local(%q) = %q", text, got)
		}
		if got := NewTable().Member(text); !allowed.MatchString(got[:len(got)-1]) {
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
	n := NewTable()
	for range 200_000 { // quadratic work would take minutes
		n.Local("T")
	}
	if got := n.Local("T"); got != "T200001" {
		t.Errorf("the next one is %s", got)
	}
}
