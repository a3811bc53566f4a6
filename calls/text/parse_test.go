package text

import (
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/base/diag"
)

// TestParseErrors checks the errors of invalid texts, most of them with their positions.
func TestParseErrors(t *testing.T) {
	const head = "calls p from \"spec.yaml\"\nstreams 0\n\n"
	for text, want := range map[string]string{
		"program p":                                  "case:1:1: error HG110: a program starts with",
		head + "Jump(on caller)":                     "case:4:1: error HG110: no statement is called \"Jump\"",
		head + "Delay(on caller, on caller)":         "on is given twice",
		head + "Delay(speed 3)":                      "Delay has no field \"speed\"",
		head + "Delay(microseconds x)":               "case:4:20: error HG110: \"x)\" stands where a whole number should",
		head + "Delay(on caller":                     "case:4:16: error HG110: the end of the line stands where \",\" should",
		head + "For(var s, count 3)\n  Delay()":      "a colon stands behind what holds statements",
		head + "  Delay()":                           "this line is indented",
		head + "Delay(microseconds 1) @x":            "case:4:24: error HG110: \"x\" stands where a whole number should",
		head + "Let(name a, value 1 +)":              "case:4:22: error HG110: the expression ends",
		head + "Delay()\n\nDelay()":                  "case:5:1: error HG110: neither a statement nor a section",
		head + "\ncreate:\n  steal A_":               "case:6:3: error HG110: \"steal A_\" is no step",
		head + "\ncreate:\n  free":                   "\"free\" is no step",
		head + "\ndestroy:\n  meet A_":               "\"meet A_\" is no step",
		head + "\ndestroy:\n  meet\n\ncreate:\n":     "case:7:1: error HG110: neither a statement nor a section",
		"calls p from \"s\"\nstreams many\n\n":       "\"many\" is no number of streams",
		"calls p from \"s\"\nstreams 0\nThing()\n\n": "nothing that programs declare is called \"Thing\"",
	} {
		if _, err := Parse("case", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

func TestVariantsParseBack(t *testing.T) {
	const one, other = "calls p from \"p.yaml\"\nstreams 0\n\n", "calls p from \"p.yaml\"\nstreams 1\n\n"
	variants, err := ParseAll("p", one+"\nfallback:\n"+other)
	if err != nil || len(variants) != 2 || PrintAll(variants) != one+"\nfallback:\n"+other {
		t.Errorf("%d variants, %v", len(variants), err)
	}
	_, err = ParseAll("p", one+"\nfallback:\n"+other+"Nothing()\n")
	if found, ok := diag.Diagnostics(err); !ok || found.Items[0].Pos.Line != 9 {
		t.Errorf("a mistake in line 9 gives %v", err)
	}
}

func TestLifeParsesBack(t *testing.T) {
	const text = "calls p from \"p.yaml\"\nstreams 0\n\nDelay(microseconds 1, on caller)\n\ncreate:\n  make copy\n  allocate A_\n\nfirst " +
		"call:\n  export C_ipc\n\ndestroy:\n  finish\n  free A_\n"
	p, err := Parse("p", text)
	if err != nil || Print(p) != text || len(p.Life.Create) != 2 || len(p.Life.Destroy) != 2 {
		t.Errorf("%v\n%s", err, Print(p))
	}
}

// TestFormerKeys reads a text as older versions wrote it.
func TestFormerKeys(t *testing.T) {
	const text = "calls p from \"spec.yaml\"\nstreams 0\n\nAttend(attention k, %s M_ + 8, on caller)\n"
	before, err := Parse("case", strings.Replace(text, "%s", "room", 1))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := Print(before), strings.Replace(text, "%s", "scratch", 1); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
