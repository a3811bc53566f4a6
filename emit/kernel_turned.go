package emit

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/model/domain"
)

// turnedBy returns the number of the operand that a kernel transposes while it computes, for launch_turned; 0: there is
// none. It is the only operand with an element for each column. In all launches of the kernel, the rows of the operand are
// adjacent in memory, and its columns are not. The kernel divides each element by a number of its row, and stores the quotients
// in 8 bits in dense rows. All other operands and results have one element for each row.
func turnedBy(k *calls.Kernel, launches []*calls.Launch) int {
	if !k.Views || k.Axes != 1 || len(launches) == 0 || k.Uses[0] != calls.ForElement || domain.DType(k.Types[0]).Size() != 1 || k.NeedsRow() {
		return 0
	}
	at := 0
	for i, use := range k.Uses[1:] {
		switch {
		case use == calls.ForElement && at == 0 && i+1 >= int(k.Results) && k.Types[i+1] != calls.InPositions:
			at = i + 1
		case use != calls.ForRow || k.Types[i+1] == calls.InPositions:
			return 0
		}
	}
	steps := k.Steps()
	if last := len(steps) - 1; at == 0 || !slices.Equal(wideSteps(k), []int{last}) || steps[last].Fn != "div" ||
		steps[last].Args[0] != at-int(k.Results) {
		return 0
	}
	for _, l := range launches {
		in, out := l.In[at-1].Strides, l.Out.Strides
		if len(in) != 2 || in[0].String() != "1" || in[1].String() == "1" || len(out) != 2 || out[1].String() != "1" {
			return 0
		}
	}
	return at
}

// wideSteps lists the steps of a kernel without operands for columns that have a value for each element.
func wideSteps(k *calls.Kernel) (list []int) {
	operands := k.Uses[k.Results:]
	wide := make([]bool, len(operands))
	for i, use := range operands {
		wide[i] = use == calls.ForElement
	}
	for i, is := range k.Steps().Rows(wide)[len(operands):] {
		if is {
			list = append(list, i)
		}
	}
	return list
}
