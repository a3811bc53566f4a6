// Package hirgen turns a pipeline, built in Go or read from a spec, into a program. Emit writes the same program as "hirgen emit".
//
// Package model has the pipelines: model.New starts one, model.LoadFile reads a spec.
package hirgen

import (
	"fmt"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/prove"
)

// Options configure Emit. With the zero value, Emit writes what "hirgen emit" writes without flags, with two exceptions: the Version
// is "devel", and the folder does not contain the spec.
type Options struct {
	// Force overwrites files that were edited or that hirgen did not write, and the files of another program.
	Force bool
	// NoVerify writes the program without proving it.
	NoVerify bool
	// Packages of other languages that the program gets.
	Packages emit.Packages
	// Version of hirgen that the program states; "devel" if empty.
	Version string
}

// NotProvedError reports a program that was not proved, and so was not written.
type NotProvedError struct{ Report *prove.Report }

// Error lists all findings of the report.
func (e *NotProvedError) Error() string {
	var text strings.Builder
	e.Report.Text(&text)
	return "the program is not proved: " + strings.TrimSpace(text.String())
}

// Emit lowers a pipeline, proves the calls of all ranks unless o.NoVerify is set, and writes the program into a folder. It creates
// the folder if necessary. It returns the files that changed, also removed ones. Emit writes no file and returns a *diag.Errors for
// a mistake of the pipeline, and a *NotProvedError for a program that is not proved.
func Emit(p *model.Pipeline, dir string, o Options) (changed []string, err error) {
	program, err := lowering.Lower(p, lowering.Options{Verify: true})
	if err != nil {
		return nil, err
	}
	if !o.NoVerify {
		if err := proved(program, p); err != nil {
			return nil, err
		}
	}
	files, err := emit.Render(program, emit.Options{Version: o.Version, Packages: o.Packages})
	if err != nil {
		return nil, err
	}
	return emit.Write(dir, files, emit.WriteOptions{Force: o.Force})
}

// proved proves the calls, and compares their values with the pipeline. It returns a *NotProvedError for the first variant that is
// not proved.
func proved(c *calls.Described, p *model.Pipeline) error {
	reports, err := prove.Each(c.Programs(), p.With)
	if err != nil {
		return fmt.Errorf("proving %s: %w", p.Name, err)
	}
	for _, report := range reports {
		if !report.Emits() {
			return &NotProvedError{Report: report}
		}
	}
	return nil
}
