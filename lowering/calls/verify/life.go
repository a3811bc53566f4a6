package verify

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/lowering/calls"
)

// life checks what is done around the calls: classes are printed, and those of the runtime end, in one order alone.
func (v *verifier) life() {
	printed := calls.LifeOf(v.program)
	for i, section := range printed.Sections() {
		if said := *v.program.Life.Sections()[i].Steps; !slices.Equal(said, *section.Steps) {
			v.report(diag.Pos{File: v.program.File}, fmt.Sprintf("section %q has other steps than the program that is printed", section.Name))
		}
	}
}
