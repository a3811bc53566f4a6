package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const llamaMLP = "../../testdata/specs/llama_mlp/spec.yaml"

// emitGradient emits llama_mlp for two ranks with its backward pass, and returns the folder.
func emitGradient(t *testing.T) string {
	t.Helper()
	return emitWithGradient(t, llamaMLP, "-p", "D=2", "-p", "M=64", "-p", "K=32")
}

// emitWithGradient emits a spec with its backward pass, and returns the folder.
func emitWithGradient(t *testing.T, spec string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	forward, backward, out := filepath.Join(dir, "forward.yaml"), filepath.Join(dir, "backward.yaml"), filepath.Join(dir, "out")
	if exit, _, stderr := hirgen(t, "", "grad", spec, "-o", backward, "--forward", forward); exit != exitOK {
		t.Fatal(stderr)
	}
	flags = append([]string{"emit", forward, "-o", out, "--python", "--backward", backward}, flags...)
	if exit, _, stderr := hirgen(t, "", flags...); exit != exitOK {
		t.Fatal(stderr)
	}
	return out
}

// TestPythonPackageHasTensorsOfOneRank checks that the package declares tensors with the shapes on one rank.
func TestPythonPackageHasTensorsOfOneRank(t *testing.T) {
	text := read(t, filepath.Join(emitGradient(t), "python", "llama_mlp", "__init__.py"))
	for _, want := range []string{
		`Tensor("X", (64, 32), torch.bfloat16),`,
		`Tensor("gamma", (32,), torch.bfloat16, weight=True),`,
		// The rows of Wg are split, and the columns of W2, which follow an axis that is not split.
		`Tensor("Wg", (56, 32), torch.bfloat16, splits=(Split(axis=0, parts=2, stride=1),), weight=True),`,
		`Tensor("W2", (32, 56), torch.bfloat16, splits=(Split(axis=1, parts=2, stride=1),), weight=True),`,
		`Tensor("gamma", (32,), torch.bfloat16),`, // in the backward pass it is no weight
		`Tensor("dW2", (32, 56), torch.bfloat16, splits=(Split(axis=1, parts=2, stride=1),), gradient_of="W2"),`,
		`def llama_mlp(X, gamma, Wg, Wu, W2, *, group=None):`,
		`_operator = runtime.Operator(_FORWARD, _BACKWARD)`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the package does not say %s:\n%s", want, text)
		}
	}
}

// TestPythonPackageHasRoles checks that the package says what the tensors of the backward pass are: dp is a saved tensor, and
// not the gradient of p, dY is an input and dY_2 the gradient of Y, and the gradients of Q and R have other names than usual.
func TestPythonPackageHasRoles(t *testing.T) {
	out := emitWithGradient(t, file(t, "roles.yaml", `hirgen: 1
name: roles
mesh: {x: 2}
tensors: {X: [DIDx, 4, 8], W: [8, 8], Q: [DIDx, 4, 8], R: [DIDx, 4, 8], dY: [DIDx, 4, 8]}
ops:
  - h = linear(X, W)
  - p = softmax(h)
  - dp = softmax(p)
  - y = linear(dp, W)
  - q = scale(Q, by=0.5)
  - s = mul(y, q)
  - u, v = split(R)
  - r = concat(v, u)
  - t = mul(s, r)
  - Y = mul(t, dY)
`))
	_, text, _ := strings.Cut(read(t, filepath.Join(out, "python", "roles", "__init__.py")), "_BACKWARD = ")
	roles := map[string]string{}
	for _, found := range regexp.MustCompile(`Tensor\("(\w+)".*?(?:gradient_of="(\w+)")?\),\n`).FindAllStringSubmatch(text, -1) {
		roles[found[1]] = found[2]
	}
	want := map[string]string{
		"dY_2": "Y", "X": "", "W": "", "Q": "", "R": "", "dY": "", "p": "", "dp": "", "y": "",
		"dX": "X", "dW": "W", "dQ_3": "Q", "dR_3": "R", "ddY": "dY",
	}
	if !maps.Equal(roles, want) {
		t.Errorf("roles are %v, want %v:\n%s", roles, want, text)
	}
	if exit, stdout, stderr := hirgen(t, "", "verify", out); exit != exitOK {
		t.Errorf("exit code %d:\n%s%s", exit, stdout, stderr)
	}
}

// TestPythonPackageHasWeightsOf8Bits checks that the matrix of a linear layer that quantizes is a weight, and so are a
// stored matrix of 8-bit numbers and its scales.
func TestPythonPackageHasWeightsOf8Bits(t *testing.T) {
	spec := file(t, "weights.yaml", `hirgen: 1
name: weights
params: {D: 2, M: 16, K: 32, N: 32}
mesh: {x: D}
dtype: bf16
tensors:
  X: [DIDx, M, K]
  W: [N, K]
  W8: {axes: [N, N], dtype: fp8_e4m3}
  T: {axes: [N], dtype: fp32}
  Y: [DIDx, M, N]
ops:
  - H = linear(X, W, quantize=fp8_e4m3)
  - Q, S = quantize(H, dtype=fp8_e4m3)
  - Y = scaled_linear(Q, S, W8, T)
`)
	out := t.TempDir()
	if exit, _, stderr := hirgen(t, "", "emit", spec, "-o", out, "--python"); exit != exitOK {
		t.Fatal(stderr)
	}
	text := read(t, filepath.Join(out, "python", "weights", "__init__.py"))
	for _, want := range []string{
		`Tensor("X", (16, 32), torch.bfloat16, splits=(Split(axis=0, parts=2, stride=1),)),`,
		`Tensor("W", (32, 32), torch.bfloat16, weight=True),`,
		`Tensor("W8", (32, 32), torch.float8_e4m3fn, weight=True),`,
		`Tensor("T", (32,), torch.float32, weight=True),`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the package does not say %s:\n%s", want, text)
		}
	}
}

// TestPythonPackageIsVerified checks that verify accepts a folder with a package and finds an edit of its backward
// pass. The command in pyproject.toml regenerates the file.
func TestPythonPackageIsVerified(t *testing.T) {
	out := emitGradient(t)
	if exit, stdout, stderr := hirgen(t, "", "verify", out); exit != exitOK {
		t.Fatalf("exit code %d:\n%s%s", exit, stdout, stderr)
	}
	change(t, filepath.Join(out, "backward", "llama_mlp_backward.cpp"), "dgamma", "dGamma")
	if exit, stdout, _ := hirgen(t, "", "verify", out); exit != exitEdited || !strings.Contains(stdout, "llama_mlp_backward.cpp") {
		t.Errorf("exit code %d:\n%s", exit, stdout)
	}
	t.Chdir(out)
	if err := os.Remove("backward/llama_mlp_backward.cpp"); err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(read(t, "pyproject.toml"), "To regenerate: ")
	line, _, _ = strings.Cut(line, "\n")
	if exit, stdout, stderr := hirgen(t, "", words(t, line)...); exit != exitOK || !strings.Contains(stdout, "wrote 1 of ") {
		t.Errorf("%s: exit code %d, want one file to be written:\n%s%s", line, exit, stdout, stderr)
	}
}

// TestPythonSharesWhatPeersReach checks that an input is marked as shared if other ranks read it over CUDA IPC, but not with NCCL.
func TestPythonSharesWhatPeersReach(t *testing.T) {
	for via, want := range map[string]string{"nccl": "torch.bfloat16, splits=(Split(axis=0, parts=4, stride=1),)),",
		"ipc-get": "parts=4, stride=1),), shared=True),"} {
		out := filepath.Join(t.TempDir(), "out")
		exit, _, stderr := hirgen(t, "", "emit", "../../testdata/specs/ag_matmul_p2p/spec.yaml", "-o", out, "--python", "--no-verify",
			"--schedule", "all.via="+via, "-p", "D=4")
		if exit != exitOK {
			t.Fatal(stderr)
		}
		text := read(t, filepath.Join(out, "python", "ag_matmul_p2p", "__init__.py"))
		_, line, _ := strings.Cut(text, `Tensor("A", `)
		if line, _, _ = strings.Cut(line, "\n"); !strings.HasSuffix(line, want) {
			t.Errorf("via %s: A is %s", via, line)
		}
	}
}

func TestPythonMistakes(t *testing.T) {
	const one = "hirgen: 1\nname: NAME\nparams: {D: 2, M: 8}\nmesh: {x: D}\ntensors:\n  A: [DIDx, M]\n  B: [D, M]\nops:\n  - B = set(A)\n"
	good := file(t, "good.yaml", strings.ReplaceAll(one, "NAME", "good"))
	other := file(t, "other.yaml", strings.ReplaceAll(one, "NAME", "other"))
	torch := file(t, "torch.yaml", strings.ReplaceAll(one, "NAME", "torch"))
	for _, c := range []struct {
		args []string
		exit int
		want string
	}{
		{[]string{good, "--backward", other}, exitUsage, "add --python"},
		{[]string{torch, "--python"}, exitSpec, `"torch" cannot name a Python package`},
		{[]string{good, "--python", "--backward", good}, exitSpec, "both named good"},
		{[]string{good, "--python", "--backward", other}, exitSpec, "output B of the backward pass is the gradient of no input"},
	} {
		args := append([]string{"emit", "-o", filepath.Join(t.TempDir(), "out")}, c.args...)
		if exit, _, stderr := hirgen(t, "", args...); exit != c.exit || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit code %d, want %d and %q:\n%s", c.args, exit, c.exit, c.want, stderr)
		}
	}
}
