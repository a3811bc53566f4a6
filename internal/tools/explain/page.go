// Package explain makes a page that shows how a spec is compiled: its graph, the programs after each pass, and the
// emitted lines, linked to lines of the spec. It shows the reason for each wait and each choice.
//
// Collect runs the stages and collects their output. Page.Write prints it as one self-contained HTML file.
package explain

import "github.com/hirgen/hirgen/cost"

// Page is all that the page shows.
type Page struct {
	Name    string // name of the program
	Spec    string // name of the file of the spec
	Summary []Fact
	Lines   []Line // lines of the spec
	Model   []Line // parameters, tensors and operations
	Graph   Graph
	GEMMs   []cost.Product
	Stages  []Stage // host programs after each pass, then calls after each pass
	Calls   []Listing
	Sources []Listing // the emitted programs
	Waits   []Wait
	Notes   []Wait // statements of the host program that a pass gave a reason
	Moves   []Move
	Hidden  []Hidden
	Basis   string // why auto chose the schedule; empty if the spec states it
	Choices []Choice
	Idle    string        // fields at their defaults whose other possible values change the predicted time by less than 0.05 us
	Whole   []Alternative // complete schedules, the fastest first
	Skipped string        // why alternatives were not predicted; empty where they were
}

// Fact is a figure of the summary.
type Fact struct{ Name, Value string }

// Line is a line of text and where it comes from.
type Line struct {
	Number int // from 1
	Text   string
	From   []int // lines of the spec
	Call   int   // number of the statement of the call IR that the line prints or is, from 1; 0: none
}

// Listing is a text with a name.
type Listing struct {
	Name  string
	Lines []Line
}

// Stage is a program after a pass, as a difference from the previous stage.
type Stage struct {
	Name, Why string
	IR        string // "host IR" or "call IR"
	Changed   bool
	Edits     []Edit
}

// Edit is a line that is kept (' '), removed ('-') or added ('+').
type Edit struct {
	Kind byte
	Line string
	From []int
}

// Wait is a call that waits, or a statement of the host program, and the reason for it. Stream is empty for the
// latter.
type Wait struct {
	Line
	Op     string
	Stream string
	Why    string
}

// Move is a communication, its reason, and the costs of the next best placements, which avoid the communication.
type Move struct {
	Line
	Why, Next string
}

// Hidden is a communication, its predicted time on the rank with the longest exposed time, and the tasks that hide it.
// Total, Exposed and Behind are in microseconds.
type Hidden struct {
	Name                   string
	From                   []int
	Times                  int
	Total, Exposed, Behind float64
	By                     []string // tasks that hide it, the longest first
}

// Choice is a field of the schedule, the origin of its value, and the effect of other values.
type Choice struct {
	Path, Value, By string
	Others          []Alternative // the fastest first
}

// Alternative is a schedule that the program could have, and its predicted time in microseconds.
type Alternative struct {
	Name       string
	Predicted  float64
	Difference float64 // its predicted time minus the program's, in microseconds
	Refused    string  // why the program cannot have it; empty where it can
}
