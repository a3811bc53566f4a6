package goprint_test

import (
	"strings"
	"testing"

	"github.com/dave/jennifer/jen"

	"github.com/hirgen/hirgen/emit/goprint"
)

func TestImportsAreInGroups(t *testing.T) {
	for _, c := range []struct {
		paths []string
		want  string
	}{
		{[]string{"fmt", "example/own/sub", "github.com/a/b", "os", "example/other"},
			"\t\"example/other\"\n\t\"fmt\"\n\t\"os\"\n\n\t\"example/own/sub\"\n\t\"github.com/a/b\"\n"},
		{[]string{"fmt", "os"}, "\t\"fmt\"\n\t\"os\"\n"},
		{[]string{"example/own", "github.com/a/b"}, "\t\"example/own\"\n\t\"github.com/a/b\"\n"},
	} {
		f := jen.NewFile("x")
		for _, path := range c.paths {
			f.ImportName(path, path[strings.LastIndex(path, "/")+1:])
			f.Var().Id("_").Op("=").Qual(path, "X")
		}
		text, err := goprint.Render(f, "example/own")
		if err != nil || !strings.Contains(string(text), "\nimport (\n"+c.want+")\n") {
			t.Errorf("want\n%s, got %v\n%s", c.want, err, text)
		}
	}
	if text, err := goprint.Render(jen.NewFile("x"), ""); err != nil || string(text) != "package x\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestTextStaysInItsComment(t *testing.T) {
	if got, want := goprint.Comment("a\n\n\tb */\nc"), "// a\n//\n//\tb */\n// c"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := goprint.Line("a\nb\u2028"); strings.ContainsAny(got, "\n\u2028") {
		t.Errorf("%q", got)
	}
}
