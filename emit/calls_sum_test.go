package emit_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/calls/text"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
)

// summed are patterns of the specs whose calls have a digest in testdata/calls.sum.
var summed = []string{
	"testdata/specs/*/spec.yaml", "testdata/layers/*.yaml", "testdata/grids/*.yaml", "testdata/products/*.yaml",
	"testdata/golden/*/spec.yaml", "internal/e2e/testdata/*.yaml", "internal/e2e/testdata/moves/*.yaml",
	"prove/testdata/specs/*.yaml", "scripts/bench_gpu/specs/*/spec.yaml",
}

// TestCallsAreTheSame compares digests of the calls of specs with testdata/calls.sum. The calls are the output of "hirgen
// lower --calls", but with the default schedule for specs without one. A change to the calls of a spec changes its line
// of that file, and docs/versions.md lists the lines that changed.
func TestCallsAreTheSame(t *testing.T) {
	var got strings.Builder
	for _, pattern := range summed {
		files, err := filepath.Glob("../" + pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			fmt.Fprintf(&got, "%-60s %s\n", strings.TrimPrefix(filepath.ToSlash(file), "../"), callsDigest(t, file))
		}
	}
	const path = "../testdata/calls.sum"
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("specs have other calls (-want +got); go test ./emit -run CallsAreTheSame -update\n%s", diff)
	}
}

// callsDigest returns the first six bytes of the digest of the calls of a spec, including its fallback variant, or
// "refused" if the spec needs a schedule.
func callsDigest(t *testing.T, file string) string {
	t.Helper()
	p, _, err := model.LoadFile(file, nil)
	if err == nil && len(p.Schedule.Stated()) == 0 { // use the defaults instead of the choices of auto
		p, _, err = model.LoadFile(file, nil, model.Setting{Value: model.Defaults})
	}
	if err != nil {
		t.Fatal(err)
	}
	program, err := lowering.Host(p, lowering.Options{})
	if err != nil {
		return "refused" // needs a schedule, which other tests give it
	}
	lowered, err := lowering.Calls(program, lowering.Options{})
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return fmt.Sprintf("%.6x", sha256.Sum256([]byte(text.PrintAll(lowered.Programs()))))
}
