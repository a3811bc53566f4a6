package text

import (
	"strings"
	"testing"
)

// TestParseErrors: a text that is no program is refused where the mistake stands.
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
		"calls p from \"s\"\nstreams many\n\n":       "\"many\" is no number of streams",
		"calls p from \"s\"\nstreams 0\nThing()\n\n": "nothing that programs declare is called \"Thing\"",
	} {
		if _, err := Parse("case", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}
