package text

import (
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/diag"
)

// fallback separates a program from its fallback variant.
const fallback = "\nfallback:\n"

// PrintAll returns the text form of a program and, after a line "fallback:", of its fallback variant.
func PrintAll(variants []*calls.Program) string {
	printed := make([]string, len(variants))
	for i, p := range variants {
		printed[i] = Print(p)
	}
	return strings.Join(printed, fallback)
}

// ParseAll reads the output of PrintAll. The error is a *diag.Errors with the first error.
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

// lower moves diagnostics down by a number of lines.
func lower(err error, lines int) error {
	if found, ok := diag.Diagnostics(err); ok {
		for i := range found.Items {
			found.Items[i].Pos.Line += lines
		}
	}
	return err
}
