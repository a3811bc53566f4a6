package emit

import (
	"strings"
	"testing"
)

func TestCstr(t *testing.T) {
	for text, want := range map[string]string{
		`plain`:         `"plain"`,
		`say "hi"`:      `"say \"hi\""`,
		`back\slash`:    `"back\\slash"`,
		"line\nbreak":   `"line\012break"`,
		"\x00" + "1":    `"\0001"`,
		"é":             `"\303\251"`,
		`what??/`:       `"what?\?/"`,
		`%s ${X} $(ls)`: `"%s ${X} $(ls)"`,
		"\xff":          `"\377"`,
	} {
		if got := cstr(text); got != want {
			t.Errorf("cstr(%q) = %s, want %s", text, got, want)
		}
	}
}

func TestCommentWord(t *testing.T) {
	for text, want := range map[string]string{
		"C = matmul(A, B)":          "C = matmul(A, B)",
		"ends with a backslash\\":   "ends with a backslash/",
		`a \ inside \ `:             `a \ inside /`,
		"trigraph ??/":              "trigraph ? ?/",
		"????":                      "? ? ? ?",
		"two\nlines\r\nand\ttabs":   "two lines and tabs",
		"*/ system(\"x\"); /*":      "* / system(\"x\"); / *",
		"bidi \u202e evil \u2066 x": "bidi evil x",
		"zero\u200bwidth\ufeff":     "zero width",
		"line\u2028separator\u2029": "line separator",
		"bad \xff utf8":             "bad utf8",
		"`code` <script>":           "'code' (script)",
		"  blanks   inside  ":       "blanks inside",
		"Grüße":                     "Grüße",
	} {
		if got := commentWord(text); got != want {
			t.Errorf("commentWord(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestCommentKeepsIndentation(t *testing.T) {
	if got, want := comment("  C = A", "", "end\\"), "//   C = A\n//\n// end/"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestIndentByLeavesEmptyLines(t *testing.T) {
	if got, want := indentBy(2, "a\n\n  b"), "  a\n\n    b"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCMakeQuote(t *testing.T) {
	for text, want := range map[string]string{
		"plain":          "[[plain]]",
		"${VAR} $ENV{X}": "[[${VAR} $ENV{X}]]",
		"a]]b":           "[=[a]]b]=]",
		"a]]b]=]c":       "[==[a]]b]=]c]==]",
		"ends]":          "[=[ends]]=]",
		"\nfirst":        "[[\n\nfirst]]",
	} {
		if got := cmakeQuote(text); got != want {
			t.Errorf("cmakeQuote(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestShellWord(t *testing.T) {
	for word, want := range map[string]string{
		"spec.yaml":   "spec.yaml",
		"M=8192":      "M=8192",
		"":            "''",
		"a b":         "'a b'",
		"$(rm -rf x)": "'$(rm -rf x)'",
		"it's":        `'it'\''s'`,
		"new\nline":   "'new\nline'",
	} {
		if got := shellWord(word); got != want {
			t.Errorf("shellWord(%q) = %q, want %q", word, got, want)
		}
	}
}

// FuzzCommentStaysComment checks that no text ends its comment, because the rest would be code.
func FuzzCommentStaysComment(f *testing.F) {
	for _, seed := range []string{"a\\\nb", "??/\nint x;", "*/", "\u2028x", "a\rb", strings.Repeat("?", 9)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := comment(text)
		if strings.ContainsAny(got, "\n\r\v\f") || strings.HasSuffix(got, `\`) || strings.Contains(got, "*/") || strings.Contains(got, "??") ||
			!strings.HasPrefix(got, "//") {
			t.Errorf("comment(%q) = %q", text, got)
		}
	})
}
