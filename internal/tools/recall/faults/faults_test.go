package faults

import (
	"slices"
	"testing"

	"github.com/hirgen/hirgen/calls/passes"
	"github.com/hirgen/hirgen/lowering"
)

// TestFaultsArePassesOfTheTables checks that each fault names a pass of lowering.Passes or of passes.Passes. Otherwise the
// fault would never be made.
func TestFaultsArePassesOfTheTables(t *testing.T) {
	seen := map[string]bool{}
	for i := range All {
		f := &All[i]
		ofHost := slices.ContainsFunc(lowering.Passes, func(p lowering.Pass) bool { return p.Name == f.Pass })
		ofCalls := slices.ContainsFunc(passes.Passes, func(p passes.Pass) bool { return p.Name == f.Pass })
		switch {
		case f.host != nil && !ofHost, f.calls != nil && !ofCalls:
			t.Errorf("%s: there is no such pass", f.Title())
		case (f.host == nil) == (f.calls == nil):
			t.Errorf("%s breaks no pass, or two", f.Title())
		case seen[f.Title()] || f.Doc == "":
			t.Errorf("%s is there twice, or says nothing", f.Title())
		}
		seen[f.Title()] = true
	}
}
