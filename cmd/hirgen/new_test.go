package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestNewWritesASpecThatChecks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "my_mlp.yaml")
	if exit, out, stderr := hirgen(t, "", "new", path, "--layer", "swiglu_tp", "-n", "4", "-p", "M=4096"); exit != exitOK || !strings.Contains(out, "next: hirgen check "+path) {
		t.Fatalf("exit code %d, %s%s", exit, out, stderr)
	}
	if text := read(t, path); !strings.Contains(text, "name: my_mlp\nparams: {D: 4, S: 4, M: 4096, K: 4096, N: 14336}") {
		t.Error(text)
	}
	if exit, out, stderr := hirgen(t, "", "check", path); exit != exitOK || !strings.Contains(out, "my_mlp: 4 ranks") {
		t.Errorf("exit code %d, %s%s", exit, out, stderr)
	}
	for _, c := range []struct {
		args []string
		exit int
		want string
	}{
		{[]string{"new", path, "--layer", "ag_matmul"}, exitEnvironment, "file exists"},
		{[]string{"new", "-", "--layer", "ag_matmul"}, exitOK, "name: ag_matmul\n"},
		{[]string{"new", "-"}, exitUsage, "say which layer: --layer ag_matmul, "},
		{[]string{"new", "-", "--layer", "none"}, exitUsage, `there is no layer "none"`},
		{[]string{"new", "-", "--layer", "ag_matmul", "-p", "M=7"}, exitSpec, "error HG031"},
	} {
		if exit, out, stderr := hirgen(t, "", c.args...); exit != c.exit || !strings.Contains(out+stderr, c.want) {
			t.Errorf("hirgen %v: exit code %d, %s%s", c.args, exit, out, stderr)
		}
	}
}

func TestNewAsks(t *testing.T) {
	var out strings.Builder
	sizes := map[string]int64{"K": 512}
	layer, err := askForAll(strings.NewReader("nothing\nmlp_tp\n2\n\n-3\n1024\n"), &out, sizes)
	if err != nil || layer != "mlp_tp" || len(sizes) != 3 || sizes["D"] != 2 || sizes["M"] != 1024 || sizes["K"] != 512 {
		t.Errorf("%s, %v, %v", layer, sizes, err)
	}
	for _, want := range []string{`"nothing" will not do`, "D, the number of ranks [8]: ", "S [4]: ", `"-3" will not do`, "N [4*K]: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}
