// Package provetest contains helpers for tests of prove: the programs of the example specs, with their own and with
// random schedules.
package provetest

import (
	"path/filepath"
	"testing"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
)

// Example is a spec with its calls, and the calls of its fallback variant if it has one.
type Example struct {
	Name     string
	Programs []*calls.Program
}

// Examples lowers every example spec with its own parameters and schedule.
func Examples(tb testing.TB) []Example {
	tb.Helper()
	specs, err := filepath.Glob(Spec("*"))
	if err != nil || len(specs) == 0 {
		tb.Fatalf("no specs: %v", err)
	}
	var list []Example
	for _, path := range specs {
		name := filepath.Base(filepath.Dir(path))
		programs, err := Lower(path, nil)
		if err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		list = append(list, Example{name, programs})
	}
	return list
}

// Lower returns the calls of a spec with other parameters and settings, and of its fallback variant if it has one.
func Lower(path string, params map[string]int64, settings ...model.Setting) ([]*calls.Program, error) {
	pipeline, _, err := model.LoadFile(path, params, settings...)
	if err != nil {
		return nil, err
	}
	program, err := lowering.Lower(pipeline, lowering.Options{})
	if err != nil {
		return nil, err
	}
	return program.Programs(), nil
}
