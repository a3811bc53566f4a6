package verify

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/diag"
)

// life checks that the program has the same host steps, in the same order, as the emitted class and the runtime
// (calls.LifeOf).
func (v *verifier) life() {
	printed := calls.LifeOf(v.program)
	for i, section := range printed.Sections() {
		if said := *v.program.Life.Sections()[i].Steps; !slices.Equal(said, *section.Steps) {
			v.report(diag.Pos{File: v.program.File}, fmt.Sprintf("section %q has other steps than the program that is printed", section.Name))
		}
	}
}
