package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const (
	rightSpec = "hirgen: 1\nname: p\ntensors: {A: [8]}\nops:\n  - B = relu(A)\n"
	wrongSpec = "hirgen: 1\nname: p\ntensors: {A: [8]}\nops:\n  - B = rleu(A)\n"
)

// TestSeveralFiles checks that an error in one file does not stop the later files, and the most severe exit code
// is returned.
func TestSeveralFiles(t *testing.T) {
	wrong, other, right := file(t, "wrong.yaml", wrongSpec), file(t, "other.yaml", wrongSpec), file(t, "right.yaml", rightSpec)
	for _, c := range []struct {
		args        []string
		exit        int
		out, stderr []string
	}{
		{[]string{"check", wrong, right, other}, exitSpec, []string{right + ":\np: 1 rank,"},
			[]string{wrong + ":5:9: error HG061", other + ":5:9: error HG061"}},
		{[]string{"check", right, agMatmul}, exitOK, []string{right + ":\np: 1 rank,", agMatmul + ":\nag_matmul: 4 ranks"}, nil},
		{[]string{"check", "no/such.yaml", wrong}, exitEnvironment, nil, []string{"no/such.yaml", wrong + ":5:9: error HG061"}},
		{[]string{"verify", wrong, right, "-"}, exitSpec, []string{right + ":\nright.yaml: p: proved", "-:\nstdin: q: proved"},
			[]string{wrong + ":5:9"}},
		{[]string{"verify", agMatmul, "../../testdata/specs/matmul_rs/spec.yaml", "-n", "2"}, exitOK, []string{"matmul_rs: proved"}, nil},
		{[]string{"fmt", "-d", wrong, "no/such.yaml", right}, exitEnvironment, nil, []string{"no/such.yaml"}},
	} {
		exit, out, stderr := hirgen(t, strings.Replace(rightSpec, "name: p", "name: q", 1), c.args...)
		if exit != c.exit {
			t.Errorf("hirgen %v: exit code %d, want %d", c.args, exit, c.exit)
		}
		for _, want := range c.out {
			if !strings.Contains(out, want) {
				t.Errorf("hirgen %v: no %q in\n%s%s", c.args, want, out, stderr)
			}
		}
		for _, want := range c.stderr {
			if !strings.Contains(stderr, want) {
				t.Errorf("hirgen %v: standard error lacks %q:\n%s", c.args, want, stderr)
			}
		}
	}
}

// TestFmtFormatsBehindAMistake checks that fmt -w formats a valid file after a file with an error.
func TestFmtFormatsBehindAMistake(t *testing.T) {
	broken, loose := file(t, "broken.yaml", "ops: [1\n"), file(t, "loose.yaml", strings.Replace(rightSpec, "B = relu(A)", "B=relu( A )", 1))
	if exit, _, stderr := hirgen(t, "", "fmt", "-w", broken, loose); exit != exitSpec || !strings.Contains(stderr, "broken.yaml:1:6") ||
		read(t, loose) != rightSpec {
		t.Errorf("exit code %d, %s\n%s", exit, stderr, read(t, loose))
	}
}

// TestCheckAsJSONHasMistakes checks that check --json prints an object for one file, and an array for several.
func TestCheckAsJSONHasMistakes(t *testing.T) {
	wrong := file(t, "wrong.yaml", wrongSpec)
	exit, out, stderr := hirgen(t, "", "check", "--json", wrong)
	var one wrongReport
	if err := json.Unmarshal([]byte(out), &one); exit != exitSpec || err != nil || !strings.Contains(stderr, "HG061") {
		t.Fatalf("exit code %d, %v in %s%s", exit, err, out, stderr)
	}
	want := wrongReport{wrong, []diagnosticReport{{wrong, 5, 9, "HG061", `there is no operation "rleu"`, `did you mean "relu"?`,
		[]noteReport{}}}}
	if !reflect.DeepEqual(one, want) {
		t.Errorf("%+v, want %+v", one, want)
	}
	exit, out, _ = hirgen(t, rightSpec, "check", "--json", wrong, "-", filepath.Join(t.TempDir(), "none.yaml"))
	var all []checkReport
	if err := json.Unmarshal([]byte(out), &all); exit != exitEnvironment || err != nil || len(all) != 3 {
		t.Fatalf("exit code %d, %v in %s", exit, err, out)
	}
	if !reflect.DeepEqual(all[0].wrongReport, want) || all[1].File != "stdin" || all[1].Name != "p" || len(all[1].Diagnostics) != 0 {
		t.Errorf("%+v", all)
	}
	if d := all[2].Diagnostics; len(d) != 1 || d[0].Code != "HG001" || d[0].Line != 0 || d[0].File != all[2].File {
		t.Errorf("%+v", all[2])
	}
}

// TestCheckWatchesSeveral checks that a change of the second file is noticed.
func TestCheckWatchesSeveral(t *testing.T) {
	first, second := file(t, "first.yaml", rightSpec), file(t, "second.yaml", rightSpec)
	seen := textsOf([]string{first, second})
	if err := os.WriteFile(second, []byte(wrongSpec), 0o644); err != nil {
		t.Fatal(err)
	}
	if !changed(t.Context(), []string{first, second}, seen) {
		t.Error("a change of the second file was not seen")
	}
}
