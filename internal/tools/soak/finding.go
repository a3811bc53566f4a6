package soak

import (
	"fmt"
	"regexp"
	"strings"
)

// A Finding is a bug of hirgen with a spec that shows it.
type Finding struct {
	Spec   Spec
	Kind   Kind
	Detail string // what happened, in full
	Host   string // the host program after the last pass that changed it; empty if no pass has run
	Number uint64 // number of the spec, under the seed
}

// A Kind is the way in which hirgen fails on a spec.
type Kind string

// The kinds of findings.
const (
	Panics    Kind = "panic"               // a stage panics
	Unbounded Kind = "no end"              // a stage does not end within the time for one spec
	Internal  Kind = "a mistake of a pass" // an error that is not a documented error of specs
	Unwelcome Kind = "legal, and refused"  // a spec that must be accepted
	Disagrees Kind = "check accepts, and emit refuses"
	Differs   Kind = "wrong elements"     // the interpreter computes wrong elements
	Stuck     Kind = "does not run"       // the interpreter refuses a program, or it deadlocks
	NotProved Kind = "not proved"         // the prover finds a race, a deadlock or wrong values, or cannot decide
	NoText    Kind = "does not read back" // the printed host program cannot be parsed
	NoBuild   Kind = "does not compile"
	BadRun    Kind = "the program fails" // a run on the CPU device fails
)

var (
	digits  = regexp.MustCompile(`-?\b\d[\d.e+-]*`)
	bracket = regexp.MustCompile(`\[[^\]]*\]|\([^)]*\)`)
)

// Shape returns a text that findings with the same cause usually share: the kind, and the first line of the message
// without names, axes and numbers.
func (f *Finding) Shape() string {
	var names []string
	for _, t := range f.Spec.Tensors {
		names = append(names, t.Name)
	}
	for _, op := range f.Spec.Ops {
		names = append(names, op.Out)
	}
	text := regexp.MustCompile(`\b(`+strings.Join(names, "|")+`)(_\w+)?\b`).ReplaceAllString(firstLine(f.Detail), "T")
	text = digits.ReplaceAllString(bracket.ReplaceAllString(text, "[]"), "#")
	return fmt.Sprintf("%s: %.160s", f.Kind, text)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
