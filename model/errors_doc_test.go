package model_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/hostir/verify"
	"github.com/hirgen/hirgen/model"
)

var update = flag.Bool("update", false, "write the expected files anew")

// diagnose runs the example of an entry through the stage that reports the error: it loads and lowers a spec, or parses
// and verifies a host program.
func diagnose(e diag.Entry) *diag.Errors {
	var err error
	if strings.HasPrefix(e.Example, "hirgen:") {
		var p *model.Pipeline
		if p, err = model.Load("spec.yaml", []byte(e.Example), nil); err == nil {
			var program *hostir.Program
			if program, err = lowering.Host(p, lowering.Options{}); err == nil {
				_, err = lowering.Calls(program, lowering.Options{})
			}
		}
	} else {
		var p *hostir.Program
		if p, err = text.Parse("p.hir", e.Example); err == nil {
			err = verify.Program(p)
		}
	}
	errs, ok := diag.Diagnostics(err)
	if !ok {
		return &diag.Errors{}
	}
	return errs
}

// TestDocumentedExamplesFailAsDocumented checks that each example fails with its code, and with no other.
func TestDocumentedExamplesFailAsDocumented(t *testing.T) {
	for _, e := range diag.Entries() {
		if e.Example == "" {
			// These errors are about files and sizes, host programs to which no spec lowers, and gradients.
			if !slices.Contains([]diag.Code{diag.Unreadable, diag.TooLarge, diag.NoCommunication, diag.NotContiguous, diag.NoGradient}, e.Code) {
				t.Errorf("%s has no example", e.Code)
			}
			continue
		}
		errs := diagnose(e)
		if len(errs.Items) == 0 {
			t.Errorf("the example of %s is no error", e.Code)
		}
		for _, d := range errs.Items {
			if d.Code != e.Code {
				t.Errorf("the example of %s also gives: %v", e.Code, d)
			}
		}
	}
}

// TestErrorsPageIsCurrent checks that docs/errors.md is what the table of codes and the messages give, or with -update
// writes the page.
func TestErrorsPageIsCurrent(t *testing.T) {
	const page = "../docs/errors.md"
	var want bytes.Buffer
	want.WriteString("# Error codes\n\n" +
		"<!-- Written by \"go test ./model -run ErrorsPage -update\" from internal/base/diag. Do not edit. -->\n\n" +
		"Every mistake has a code that stays the same over versions. `hirgen explain HG031` prints an entry.\n" +
		"A report has the place, the line with a caret, and where there is one a hint:\n")
	for _, e := range diag.Entries() {
		fmt.Fprintf(&want, "\n## %s: %s\n\n%s\n", e.Code, e.Title, e.Text)
		if e.Example == "" {
			continue
		}
		if !strings.HasPrefix(e.Example, "hirgen:") {
			fmt.Fprintf(&want, "\n```text\n%s```\n", e.Example)
			continue
		}
		fmt.Fprintf(&want, "\n```yaml\n%s```\n", strings.ReplaceAll(e.Example, "\v", "\\v"))
		// The page shows only messages with the codes before NotLowerable.
		if errs := diagnose(e); e.Code < diag.NotLowerable {
			want.WriteString("\n```text\n")
			diag.Render(&want, errs, func(string) ([]byte, bool) { return []byte(e.Example), true })
			want.WriteString("```\n")
		}
	}
	if *update {
		if err := os.WriteFile(page, want.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want.Bytes()) {
		t.Error("docs/errors.md is not current: run go test ./model -run ErrorsPage -update")
	}
}
