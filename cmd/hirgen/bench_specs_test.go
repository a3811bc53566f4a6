package main

import (
	"path/filepath"
	"testing"
)

// TestSpecsOfTheBenchmarkLower checks the specs in scripts/bench_gpu with hirgen check.
func TestSpecsOfTheBenchmarkLower(t *testing.T) {
	specs, err := filepath.Glob("../../scripts/bench_gpu/specs/*/spec.yaml")
	if err != nil || len(specs) == 0 {
		t.Fatalf("no specs of the benchmark: %v", err)
	}
	for _, spec := range specs {
		if code, _, stderr := hirgen(t, "", "check", spec); code != 0 {
			t.Errorf("hirgen check %s ends with code %d:\n%s", spec, code, stderr)
		}
	}
}
