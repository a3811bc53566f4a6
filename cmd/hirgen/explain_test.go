package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestExplainPage checks that a page shows the program under the given flags and parameters, and an error in a
// spec has its position.
func TestExplainPage(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.html")
	if exit, _, stderr := hirgen(t, "", "explain", agMatmul, "-p", "S=2", "--schedule", "streams=1", "--machine", "h100", "-o",
		page); exit != exitOK {
		t.Fatal(stderr)
	}
	text := read(t, page)
	for _, want := range []string{"predicted on h100", "param   S = 2", "given <b>-p S=2 --schedule streams=1", "ncclAllGather("} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	wrong := file(t, "wrong.yaml", "hirgen: 1\nname: x\nmesh: {x: 2}\ntensors: {A: [4]}\nops: [B = nothing(A)]\n")
	for _, c := range []struct {
		args []string
		exit int
		want string
	}{
		{[]string{agMatmul}, exitUsage, "-o page.html"},
		{[]string{wrong, "-o", page}, exitSpec, "wrong.yaml:5"},
		{[]string{"none.yaml", "-o", page}, exitEnvironment, "none.yaml"},
		{[]string{agMatmul, "-o", page, "--machine", "none"}, exitUsage, "--machine"},
	} {
		exit, _, stderr := hirgen(t, "", append([]string{"explain"}, c.args...)...)
		if exit != c.exit || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit code %d, want %d with %q:\n%s", c.args, exit, c.exit, c.want, stderr)
		}
	}
}
