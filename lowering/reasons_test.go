package lowering_test

import (
	"path/filepath"
	"testing"

	"github.com/hirgen/hirgen/calls"
	calltext "github.com/hirgen/hirgen/calls/text"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model"
)

// TestEveryWaitHasAReason checks that each statement and each call that makes a stream wait has a reason in its Why,
// for all examples and several schedules.
func TestEveryWaitHasAReason(t *testing.T) {
	specs, err := filepath.Glob("../testdata/specs/*/spec.yaml")
	if err != nil || len(specs) == 0 {
		t.Fatal("no specs", err)
	}
	seen := 0
	for _, spec := range specs {
		for _, settings := range [][]model.Setting{nil, {{Value: "reference"}}, {{Path: "graph", Value: "true"}}} {
			p, _, err := model.LoadFile(spec, nil, settings...)
			if err != nil {
				continue // the spec does not allow this setting
			}
			program, err := lowering.Host(p, lowering.Options{})
			if err != nil {
				continue
			}
			for _, form := range program.Variants() {
				for s := range hostir.All(form.Body) {
					switch s.(type) {
					case *hostir.Wait, *hostir.Synchronize:
						if seen++; s.Meta().Why == "" {
							t.Errorf("%s %v: %s at %s has no reason", spec, settings, hostir.Op(s), s.Meta().Pos)
						}
					}
				}
				lowered, err := lowering.Calls(form, lowering.Options{})
				if err != nil {
					t.Fatal(err)
				}
				for s := range calls.All(lowered.Body) {
					if !calls.Waits(s) {
						continue
					}
					if seen++; s.Meta().Why == "" {
						t.Errorf("%s %v: %s at %s has no reason", spec, settings, calltext.Statement(s), s.Meta().Pos)
					}
				}
			}
		}
	}
	if seen < 500 {
		t.Errorf("only %d waits were looked at", seen)
	}
}
