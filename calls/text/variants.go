package text

import (
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/diag"
)

// fallback is the text between a program and its fallback variant.
const fallback = "\nfallback:\n"

// PrintAll returns the text form of a program and, after a line "fallback:", of its fallback variant.
func PrintAll(variants []*calls.Program) string {
	printed := make([]string, len(variants))
	for i, p := range variants {
		printed[i] = Print(p)
	}
	return strings.Join(printed, fallback)
}

// ParseAll parses the output of PrintAll. The error is a *diag.Errors with the first mistake.
func ParseAll(file, text string) ([]*calls.Program, error) {
	var variants []*calls.Program
	above := 0 // number of lines before the variant
	for _, form := range strings.Split(text, fallback) {
		p, err := Parse(file, form)
		if err != nil {
			return nil, lower(err, above)
		}
		variants = append(variants, p)
		above += strings.Count(form+fallback, "\n")
	}
	return variants, nil
}

// lower adds a number of lines to the positions of diagnostics.
func lower(err error, lines int) error {
	if found, ok := diag.Diagnostics(err); ok {
		for i := range found.Items {
			found.Items[i].Pos.Line += lines
		}
	}
	return err
}
