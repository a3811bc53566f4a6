package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/calls"
	calltext "github.com/hirgen/hirgen/calls/text"
	"github.com/hirgen/hirgen/prove"
)

func TestVerify(t *testing.T) {
	_, printed, _ := hirgen(t, "", "lower", agMatmul, "--calls")
	broken := strings.Replace(printed, "  StreamWait(event after_allgather_A_, index s, on compute)",
		"  StreamWait(event after_allgather_A_, index 0, on compute)", 1)
	if broken == printed {
		t.Fatal("the program has no such wait")
	}
	for _, c := range []struct {
		name, stdin string
		args        []string
		exit        int
		want        string
	}{
		{"spec", "", []string{agMatmul}, exitOK, "ag_matmul: proved: 112 operations on 4 ranks, 2 calls in a row"},
		{"more ranks", "", []string{agMatmul, "-n", "8"}, exitOK, "on 8 ranks"},
		{"calls", printed, []string{"-"}, exitOK, "ag_matmul: proved: 112 operations"},
		{"calls on more ranks", printed, []string{"-", "-n", "8"}, exitOK, "on 8 ranks"},
		{"wrong calls", broken, []string{"-"}, exitNotProved, "missing: from NcclCall kAllgatherA s=1"},
		{"calls and a schedule", printed, []string{"-", "--schedule", "eager"}, exitUsage, "need no lowering"},
		{"not calls", "calls", []string{"-"}, exitSpec, "HG"},
		{"wrong text", "calls p from \"x\"\nNothing(name a)\n", []string{"-"}, exitSpec, "nothing that programs declare"},
	} {
		t.Run(c.name, func(t *testing.T) {
			exit, stdout, stderr := hirgen(t, c.stdin, append([]string{"verify"}, c.args...)...)
			if exit != c.exit || !strings.Contains(stdout+stderr, c.want) {
				t.Errorf("exit %d, want %d with %q:\n%s%s", exit, c.exit, c.want, stdout, stderr)
			}
		})
	}
	_, asJSON, _ := hirgen(t, broken, "verify", "-", "--json")
	var reports []prove.Report
	if err := json.Unmarshal([]byte(asJSON), &reports); err != nil {
		t.Fatal(err)
	}
	found := reports[0].Findings[0]
	if found.Check != prove.RaceFreedom || found.Buffer.Name != "A_all_" || len(found.At) != 2 || found.At[0].Spec == "" {
		t.Errorf("the first finding is %+v", found)
	}
}

// TestEmitProves checks that proveFor refuses a wrong program, also if only the fallback variant is wrong. Lowered specs
// should pass, so the test breaks the text of a program.
func TestEmitProves(t *testing.T) {
	_, printed, _ := hirgen(t, "", "lower", agMatmul, "--calls")
	broken := strings.Replace(printed, "count S):", "count S - 1):", 1) // leave out the last gather
	p, err := calltext.Parse("calls.txt", broken)
	if err != nil || broken == printed {
		t.Fatal(err)
	}
	right, err := calltext.Parse("calls.txt", printed)
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []*calls.Described{{Program: p}, {Program: right, Fallback: &calls.Described{Program: p}}} {
		var out strings.Builder
		err = proveFor(&out, program, nil)
		var exit *exitError
		if !errors.As(err, &exit) || exit.code != exitNotProved || !strings.Contains(out.String(), "--no-verify") {
			t.Errorf("%v: %s", err, out.String())
		}
	}
}
