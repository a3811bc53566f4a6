package emit

import (
	"strings"
	"testing"
)

func TestLayOut(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"short lines stay":             {"int a = f(b, c);\n", "int a = f(b, c);\n"},
		"blank lines":                  {"a;\n\n\n\nb;\n", "a;\n\nb;\n"},
		"no blank line behind a brace": {"void f() {\n\n  a;\n}\n", "void f() {\n  a;\n}\n"},
		"trailing comments are aligned": {
			"int a;  // one\nint long_name;  // two\n\nint b;  // three\n",
			"int a;          // one\nint long_name;  // two\n\nint b;  // three\n",
		},
		"a string may hold slashes": {"f(\"http://x\", 1);\ng();  // end\n", "f(\"http://x\", 1);\ng();  // end\n"},
		"arguments fill lines": {
			"  call(" + repeat("argument", 14) + ");\n",
			"  call(argument, argument, argument, argument, argument, argument, argument, argument, argument, argument,\n" +
				"       argument, argument, argument, argument);\n",
		},
		"an assignment breaks behind its sign first": {
			"  hirgen::Events a_very_long_name_of_a_member_it_has_ = context_.events(\"a_very_long_name_of_it\", kConstant, Count);\n",
			"  hirgen::Events a_very_long_name_of_a_member_it_has_ =\n" +
				"      context_.events(\"a_very_long_name_of_it\", kConstant, Count);\n",
		},
		"an inner call that is too long is broken": {
			"  CHECK(inner(" + repeat("argument", 11) + "), kWhere);\n",
			"  CHECK(inner(argument, argument, argument, argument, argument, argument, argument, argument, argument,\n" +
				"              argument, argument),\n        kWhere);\n",
		},
		"or moved whole, where that takes no more lines": {
			"  CHECK(inner(" + repeat("operand", 10) + ", names), kWhere);\n",
			"  CHECK(\n      inner(operand, operand, operand, operand, operand, operand, operand, operand, operand, operand, names),\n" +
				"      kWhere);\n",
		},
		"a sum that is too long is broken behind a plus": {
			"  T* there = of(" + strings.Repeat("x", 50) + ") + (D + rank - s) % D * (M / D) * K + c * (M / D / 2) * K;\n",
			"  T* there = of(" + strings.Repeat("x", 50) + ") + (D + rank - s) % D * (M / D) * K +\n             c * (M / D / 2) * K;\n",
		},
		"a choice that is too long is broken before its colon": {
			"  T* there = s / 2 % D == 0 ? mine + rank * kShardM * K + s % 2 * kChunkM * K : " + strings.Repeat("x", 40) + " + s * K;\n",
			"  T* there = s / 2 % D == 0 ? mine + rank * kShardM * K + s % 2 * kChunkM * K\n" +
				"                            : " + strings.Repeat("x", 40) + " + s * K;\n",
		},
		"and behind the sign, where that leaves too little room": {
			"  T* " + strings.Repeat("y", 50) + " = s == 0 ? mine + rank * kShardM * K : " + strings.Repeat("x", 40) + " + s * K;\n",
			"  T* " + strings.Repeat("y", 50) + " =\n      s == 0 ? mine + rank * kShardM * K\n             : " + strings.Repeat("x", 40) +
				" + s * K;\n",
		},
		"a value of a choice that is too long is broken behind a plus": {
			"  T* there = s == 0 ? mine : " + strings.Repeat("x", 50) + " + " + strings.Repeat("y", 50) + " + s;\n",
			"  T* there =\n      s == 0 ? mine\n             : " + strings.Repeat("x", 50) + " +\n               " +
				strings.Repeat("y", 50) + " + s;\n",
		},
		"a choice in a call is an argument": {
			"  T* there = of(" + repeat("operand", 9) + ", s == 0 ? one : two, names);\n",
			"  T* there = of(" + repeat("operand", 9) + ",\n                s == 0 ? one : two, names);\n",
		},
		"and broken alike": {
			"  f(s == 0 ? " + strings.Repeat("x", 50) + " : " + strings.Repeat("y", 50) + ", name);\n",
			"  f(s == 0 ? " + strings.Repeat("x", 50) + "\n           : " + strings.Repeat("y", 50) + ",\n    name);\n",
		},
		"a long comment of C is filled": {
			"  /* " + strings.TrimSpace(strings.Repeat("http://x ", 12)) + " */\n",
			"  /* " + strings.TrimSpace(strings.Repeat("http://x ", 11)) + "\n   * http://x */\n",
		},
		"a long comment is filled": {
			"  // " + strings.TrimSpace(strings.Repeat("word ", 25)) + "\n",
			"  // " + strings.TrimSpace(strings.Repeat("word ", 21)) + "\n  // word word word word\n",
		},
		"a comment that does not fit where others stand begins another column": {
			"  int a;  // " + strings.Repeat("x", 90) + "\n  int c;  // c\n  int long_name = " + strings.Repeat("x", 20) + ";  // d\n",
			"  int a;  // " + strings.Repeat("x", 90) + "\n  int c;                                 // c\n  int long_name = " +
				strings.Repeat("x", 20) + ";  // d\n",
		},
		"a comment stands behind the last line": {
			"  T* there = " + strings.Repeat("x", 95) + " + rank * K;  // this comment\n  int a;  // another\n",
			"  T* there = " + strings.Repeat("x", 95) + " +\n             rank * K;  // this comment\n  int a;                // another\n",
		},
		"a comment without room goes above": {
			"  int value = " + strings.Repeat("x", 80) + ";  // this comment does not fit\n",
			"  // this comment does not fit\n  int value = " + strings.Repeat("x", 80) + ";\n",
		},
	} {
		if got := layOut(c.in); got != c.want {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

func repeat(text string, n int) string {
	return strings.TrimSuffix(strings.Repeat(text+", ", n), ", ")
}

// TestLayOutKeepsTheCode checks that layOut changes only white space in code.
func TestLayOutKeepsTheCode(t *testing.T) {
	text := "  CHECK(f(\"a, (b\", {1, {2, 3}}, " + repeat("g(x, y)", 20) + "), \"w)\\\"\");  // why\n"
	squeeze := func(s string) string {
		code, _ := splitComment(strings.ReplaceAll(strings.ReplaceAll(s, "\n", ""), "// why", ""))
		return strings.ReplaceAll(code, " ", "")
	}
	if got := squeeze(layOut(text)); got != squeeze(text) {
		t.Errorf("got  %s\nwant %s", got, squeeze(text))
	}
}
