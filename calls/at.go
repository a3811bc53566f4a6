package calls

import (
	"path"
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
)

// At returns the text that a run-time error shows for a statement: "spec.yaml:12:5 Synchronize". It contains only the
// base name of the file, so that no path of the author's machine leaks.
func At(pos diag.Pos, what string) string {
	if pos.File != "" {
		pos.File = path.Base(strings.ReplaceAll(pos.File, `\`, "/"))
	}
	return strings.TrimSpace(pos.String() + " " + what)
}
