package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGradReplacesItsOwnFiles checks that grad replaces its earlier results for the same spec, and other regular files
// only with --force.
func TestGradReplacesItsOwnFiles(t *testing.T) {
	const mlp, block = "../../testdata/specs/llama_mlp/spec.yaml", "../../testdata/specs/mlp_tp/spec.yaml"
	own := file(t, "mine.yaml", read(t, mlp))
	dir := t.TempDir()
	backward, forward := filepath.Join(dir, "backward.yaml"), filepath.Join(dir, "forward.yaml")
	for _, c := range []struct {
		args []string
		exit int
	}{
		{[]string{own, "-o", own}, exitUsage},
		{[]string{own, "-o", backward, "--forward", own}, exitUsage},
		{[]string{own, "-o", backward, "--forward", forward}, exitOK},
		{[]string{own, "-o", backward, "--forward", forward, "--recompute", "all"}, exitOK},
		{[]string{own, "-o", forward}, exitUsage},
		{[]string{block, "-o", backward}, exitUsage},
		{[]string{block, "-o", backward, "--force"}, exitOK},
		{[]string{own, "-o", os.DevNull}, exitOK},
	} {
		exit, _, stderr := hirgen(t, "", append([]string{"grad"}, c.args...)...)
		if exit != c.exit || exit == exitUsage && !strings.Contains(stderr, "add --force") {
			t.Errorf("grad %v: exit code %d, want %d\n%s", c.args, exit, c.exit, stderr)
		}
	}
	if read(t, own) != read(t, mlp) {
		t.Error("the spec was replaced")
	}
}

// TestGradOfOneRank checks that a spec has the same backward pass with one rank, where hirgen lowers no axis as split, as
// with two ranks.
func TestGradOfOneRank(t *testing.T) {
	for _, spec := range []string{agMatmul, llamaMLP, file(t, "one.yaml", "hirgen: 1\nname: one\nparams: {D: 1}\nmesh: {x: D}\n"+
		"tensors: {X: [DIDx, 6/D, 8], Y: [DIDx, 6/D, 8]}\nops: [Y = exp(X)]\n")} {
		var texts []string
		for _, ranks := range []string{"1", "2"} {
			exit, text, stderr := hirgen(t, "", "grad", spec, "-p", "D="+ranks)
			if exit != exitOK {
				t.Fatal(stderr)
			}
			texts = append(texts, strings.Replace(text, "{D: "+ranks, "{D: n", 1))
		}
		if texts[0] != texts[1] {
			t.Errorf("on one rank:\n%s\non two ranks:\n%s", texts[0], texts[1])
		}
	}
}

// TestGradQuantizesGradients checks the option --gradients: the type of the operands that are gradients.
func TestGradQuantizesGradients(t *testing.T) {
	const spec = "../../testdata/layers/fp8_mlp.yaml"
	if exit, text, stderr := hirgen(t, "", "grad", spec, "--gradients", "fp8_e5m2"); exit != exitOK ||
		!strings.Contains(text, "dA = matmul(dR, W2, quantize=[fp8_e5m2, fp8_e4m3])") {
		t.Errorf("exit code %d\n%s%s", exit, text, stderr)
	}
	if exit, _, stderr := hirgen(t, "", "grad", spec, "--gradients", "bf16"); exit != exitUsage ||
		!strings.Contains(stderr, "fp8_e5m2, not bf16") {
		t.Errorf("exit code %d\n%s", exit, stderr)
	}
}

// TestEmitKeepsOtherPrograms checks that emit replaces the folder of another program only with --force.
func TestEmitKeepsOtherPrograms(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	emit := func(args ...string) (int, string) {
		exit, _, stderr := hirgen(t, "", append([]string{"emit", "--no-verify", "-o", out}, args...)...)
		return exit, stderr
	}
	if exit, stderr := emit(agMatmul); exit != exitOK {
		t.Fatal(stderr)
	}
	if exit, stderr := emit("../../testdata/specs/allgather/spec.yaml"); exit != exitEnvironment ||
		!strings.Contains(stderr, "ag_matmul of spec.yaml") || !strings.Contains(stderr, "--force") {
		t.Errorf("exit code %d\n%s", exit, stderr)
	}
	if exit, stderr := emit(agMatmul, "-p", "S=8"); exit != exitOK {
		t.Errorf("exit code %d\n%s", exit, stderr)
	}
	if exit, stderr := emit("../../testdata/specs/allgather/spec.yaml", "--force"); exit != exitOK {
		t.Errorf("exit code %d\n%s", exit, stderr)
	}
}
