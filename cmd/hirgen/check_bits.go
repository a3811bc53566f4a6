package main

import (
	"fmt"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/effects"
)

// bitsReport is an output, and the first reason why its bits may differ from run to run. Why is empty if they are the same.
type bitsReport struct {
	Output string `json:"output"`
	Why    string `json:"why"`
	At     string `json:"at"`
}

// reportBits lists the outputs of a program, each with the first reason that any variant has.
func reportBits(variants []*calls.Program) (list []bitsReport) {
	for _, p := range variants {
		for i, o := range effects.Outputs(p) {
			if i == len(list) {
				list = append(list, bitsReport{Output: o.Tensor})
			}
			if o.By != nil && list[i].Why == "" {
				list[i] = bitsReport{o.Tensor, o.Why, o.By.Meta().Pos.String()}
			}
		}
	}
	return list
}

// describeBits prints how many outputs have the same bits on every run, and the first cause for each other output.
func describeBits(text *strings.Builder, list []bitsReport) {
	same, others := 0, ""
	for _, o := range list {
		if o.Why == "" {
			same++
		} else {
			others += fmt.Sprintf("    not %s: %s: %s\n", o.Output, o.At, o.Why)
		}
	}
	fmt.Fprintf(text, "  same bits on every run: %d of %d outputs\n%s", same, len(list), others)
}
