package main

import (
	"io"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	api "github.com/hirgen/hirgen"
)

func TestNewWritesASpecThatChecks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "my_mlp.yaml")
	if exit, out, stderr := hirgen(t, "", "new", path, "--layer", "swiglu_tp", "-n", "4", "-p", "M=4096"); exit != exitOK ||
		!strings.Contains(out, "next: hirgen check "+path) {
		t.Fatalf("exit code %d, %s%s", exit, out, stderr)
	}
	if text := read(t, path); !strings.Contains(text, "name: my_mlp\nparams: {D: 4, M: 4096, K: 256, N: 1024}") {
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
		{[]string{"new", "-", "--layer", "none"}, exitUsage, `"none": there is no such layer; there are ag_matmul, `},
		{[]string{"new", "-", "--layer", "ag_matmul", "-p", "M=7"}, exitSpec, "error HG031"},
		{[]string{"new", "-", "--layer", "swiglu_pt"}, exitUsage, "did you mean swiglu_tp?"},
		{[]string{"new", "-", "--layer", "mlp_tp", "--dtype", "fp8"}, exitOK, "P = linear(A, W2, quantize=fp8_e4m3)"},
		{[]string{"new", "-", "--layer", "mlp_tp", "--dtype", "fp32"}, exitOK, "dtype: fp32"},
		{[]string{"new", "-", "--layer", "mlp_tp", "--dtype", "fp9"}, exitUsage, "--dtype is one of bf16, fp16, fp32, fp8"},
		{[]string{"new", path}, exitEnvironment, "file exists"}, // before anything is asked
		{[]string{"new", "-", "--name", "while"}, exitSpec, "error HG021"},
	} {
		if exit, out, stderr := hirgen(t, "", c.args...); exit != c.exit || !strings.Contains(out+stderr, c.want) {
			t.Errorf("hirgen %v: exit code %d, %s%s", c.args, exit, out, stderr)
		}
	}
}

// TestNewAsks checks that for an answer that does not fit, new prints the reason and asks again. It keeps the
// earlier answers.
func TestNewAsks(t *testing.T) {
	for _, c := range []struct {
		answers string
		given   map[string]int64
		layer   string
		want    map[string]int64
		shown   []string
	}{
		{"nothing\nmlp_pt\nmlp_tp\n4\n\n-3\n1k\n1024\n", map[string]int64{"K": 512}, "mlp_tp",
			map[string]int64{"D": 4, "M": 512, "K": 512, "N": 1024},
			[]string{`"nothing" will not do: there is no such layer; there are ag_matmul`, "did you mean mlp_tp?", "D, the number of ranks [2]: ",
				"M [512]: ", "N [4*K]: ", `"-3" will not do: a size is at least 1`, `"1k" will not do: "1k" is not`}},
		// A size that the spec cannot divide as it has to is refused at once. A default that it cannot divide is replaced.
		{"ag_matmul\n3\n7\n\n\n\n", nil, "ag_matmul", map[string]int64{"D": 3, "M": 1536, "K": 256, "N": 256},
			[]string{"M [1536]: ", `"7" will not do: `}},
		{"llama_block\n3\n\n\n\n4\n\n\n\n\n\n", nil, "llama_block", map[string]int64{"D": 3, "B": 1, "L": 256, "H": 12, "G": 6, "C": 64},
			[]string{"H [12]: ", "G [6]: ", `"4" will not do: `}},
		{"ag_matmul\n4\n", nil, "ag_matmul", map[string]int64{"D": 4, "M": 512, "K": 256, "N": 256}, nil}, // Ctrl-D
	} {
		sizes := maps.Clone(c.given)
		if sizes == nil {
			sizes = map[string]int64{}
		}
		var out strings.Builder
		layer, err := askForAll(strings.NewReader(c.answers), &out, sizes)
		if err != nil || layer != c.layer || !maps.Equal(sizes, c.want) {
			t.Errorf("%q: %s, %v, %v\n%s", c.answers, layer, sizes, err, &out)
		}
		for _, want := range c.shown {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q: no %q in\n%s", c.answers, want, &out)
			}
		}
		if _, err := api.NewSpec(layer, "mine", "bf16", sizes); err != nil {
			t.Errorf("%q: %v", c.answers, err)
		}
	}
	if _, err := askForAll(strings.NewReader("ag_matmul\n"), io.Discard, map[string]int64{"Q": 3}); err == nil ||
		!strings.Contains(err.Error(), `no parameter "Q"`) {
		t.Errorf("%v", err)
	}
}

// TestNewLayersAreProved checks that the spec of every layer passes check and verify, and can be lowered to
// calls.
func TestNewLayersAreProved(t *testing.T) {
	for _, layer := range api.Layers {
		path := filepath.Join(t.TempDir(), layer+".yaml")
		for _, args := range [][]string{{"new", path, "--layer", layer}, {"check", path}, {"verify", path},
			{"verify", path, "--schedule", "auto"}, {"lower", path, "--calls"}} {
			if exit, out, stderr := hirgen(t, "", args...); exit != exitOK || out == "" {
				t.Errorf("hirgen %v: exit code %d, %s%s", args, exit, out, stderr)
			}
		}
	}
}
