package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/launch"
)

// TestSharedRuntime builds two programs that share a compiled runtime: the second one compiles none of it, until the
// sources of its runtime differ.
func TestSharedRuntime(t *testing.T) {
	shared.make(t, agMatmul(plain), params{"D": 2})
	if len(matches(t, filepath.Join(cacheFolder(), "runtime"), "libhirgen_runtime_cpu_*.a")) == 0 {
		t.Fatal("the first program left no runtime")
	}
	second := folder{"second"}
	if err := os.RemoveAll(second.dir()); err != nil { // an earlier run left its changed runtime there
		t.Fatal(err)
	}
	program := second.make(t, agLinear(plain), params{"D": 2})
	run(t, launch.Options{Program: program, N: 2, Args: brief}).mustPass(t)
	if got := matches(t, filepath.Dir(program), "CMakeFiles/*_runtime.dir"); len(got) != 0 {
		t.Errorf("the second program compiled %q", got)
	}

	// Break headers that only the runtime includes: each of its translation units then fails at once.
	for _, headers := range []string{"src/*/*.hpp", "cpu/src/*/*.hpp"} {
		for _, header := range matches(t, filepath.Join(second.dir(), "runtime"), headers) {
			if err := os.WriteFile(header, []byte("#error another runtime\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := launch.Build(t.Context(), launch.BuildOptions{Dir: second.dir(), Device: launch.CPU}); err == nil {
		t.Error("a program with another runtime was linked with what the first one left")
	}
}

func matches(t *testing.T, dir, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return found
}
