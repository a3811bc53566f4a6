package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/emit"
)

// TestRunLaunchesAnyCommand runs a shell in one process for each of three ranks.
func TestRunLaunchesAnyCommand(t *testing.T) {
	exit, stdout, stderr := hirgen(t, "", "run", "-n", "3", "--seed", "7", "--", "sh", "-c",
		`echo "$HIRGEN_RANK/$HIRGEN_WORLD/$HIRGEN_LOCAL_RANK $HIRGEN_ADDR:$HIRGEN_PORT $HIRGEN_CPU_SEED $1 ${#HIRGEN_JOB_SECRET}"; exit `+
			`$HIRGEN_RANK`, "sh", "--flag")
	if exit != 2 {
		t.Errorf("exit code %d, want the highest of the ranks'", exit)
	}
	for _, want := range []string{`(?m)^0/3/0 127\.0\.0\.1:\d+ 7 --flag \d\d$`, `(?m)^\[1\] 1/3/1 `, `(?m)^\[2\] 2/3/2 `} {
		if !regexp.MustCompile(want).MatchString(stdout) {
			t.Errorf("no %s in:\n%s", want, stdout)
		}
	}
	if !strings.Contains(stderr, "rank 2 exited with code 2\n") {
		t.Errorf("code 2 of a command means nothing:\n%s", stderr)
	}
}

// TestRanksAreThoseOfTheFolder checks that the number of ranks comes from -n, the manifest or the spec of the
// folder, in this order.
func TestRanksAreThoseOfTheFolder(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	if exit, _, stderr := hirgen(t, "", "emit", agMatmul, "-o", out, "-p", "D=2", "--no-verify"); exit != exitOK {
		t.Fatal(stderr)
	}
	want := func(flags runFlags, ranks int) {
		t.Helper()
		if got, err := flags.ranksOf(&cobra.Command{}, out); err != nil || got != ranks {
			t.Errorf("%d ranks, %v, want %d", got, err, ranks)
		}
	}
	want(runFlags{}, 2)
	want(runFlags{ranks: 3}, 3)
	forget(t, filepath.Join(out, emit.ManifestName), "ranks")
	want(runFlags{}, 2)
	if err := os.RemoveAll(filepath.Join(out, emit.SpecFolder)); err != nil {
		t.Fatal(err)
	}
	exit, _, stderr := hirgen(t, "", "run", out, "--device", "cpu")
	if exit == exitOK || !strings.Contains(stderr, "-n RANKS") {
		t.Errorf("exit code %d:\n%s", exit, stderr)
	}
}

// forget removes a field of a JSON file.
func forget(t *testing.T, path, field string) {
	t.Helper()
	fields := map[string]any{}
	if err := json.Unmarshal([]byte(read(t, path)), &fields); err != nil {
		t.Fatal(err)
	}
	delete(fields, field)
	data, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
