package main

import (
	"fmt"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/effects"
)

// bitsReport says whether an output has the same bits on every run, and if not, what changes them first.
type bitsReport struct {
	Output string `json:"output"`
	Same   bool   `json:"same"`
	Why    string `json:"why"`
	At     string `json:"at"`
}

// reportBits lists the outputs of all variants of a program.
func reportBits(variants []*calls.Program) (list []bitsReport) {
	for _, p := range variants {
		for i, o := range effects.Outputs(p) {
			if i == len(list) {
				list = append(list, bitsReport{Output: o.Tensor, Same: true})
			}
			if o.By != nil && list[i].Same {
				list[i] = bitsReport{o.Tensor, false, o.Why, o.By.Meta().Pos.String()}
			}
		}
	}
	return list
}

// describeBits prints how many outputs have the same bits on every run, and what changes the others.
func describeBits(text *strings.Builder, list []bitsReport) {
	var causes []string
	names := map[string]string{} // the outputs that a cause changes
	others := 0
	for _, o := range list {
		cause := o.At + ": " + o.Why
		switch {
		case o.Same:
			continue
		case names[cause] == "":
			causes, names[cause] = append(causes, cause), o.Output
		default:
			names[cause] += ", " + o.Output
		}
		others++
	}
	if others == 0 {
		fmt.Fprintf(text, "  same bits on every run: all %d outputs\n", len(list))
		return
	}
	fmt.Fprintf(text, "  same bits on every run: %d of %d outputs, not\n", len(list)-others, len(list))
	for _, cause := range causes {
		fmt.Fprintf(text, "    %s, since %s\n", names[cause], cause)
	}
}
