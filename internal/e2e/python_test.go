package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/internal/tools/launch"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/grad"
)

// TestPythonPackageWithoutTorch builds the package for PyTorch of llama_mlp and its gradient as pip does, by CMake, and
// calls both libraries through the part of the package that needs no PyTorch. PyTorch is too large for CI: make
// test-python tests the rest.
func TestPythonPackageWithoutTorch(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	own := folder{"python"}
	values := params{"D": 2, "M": 16, "K": 8}
	forward, backward := gradientOf(t, filepath.Join("..", "..", "testdata", "specs", "llama_mlp", "spec.yaml"), values)
	files, err := emit.Render(forward, emit.Options{Packages: emit.Packages{Python: true}, Backward: &emit.Backward{Program: backward}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := emit.Write(own.dir(), files, emit.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	flags, err := compilerFlags()
	if err != nil {
		t.Fatal(err)
	}
	build, prefix := filepath.Join(own.dir(), "build", "python"), t.TempDir()
	command(t, own.dir(), "cmake", "-S", ".", "-B", build, "-G", "Ninja", "-DHIRGEN_DEVICE=cpu", "-DHIRGEN_PYTHON_PACKAGE=llama_mlp",
		"-DHIRGEN_CACHE="+cacheFolder(), "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE="+flags)
	command(t, own.dir(), "cmake", "--build", build, "--target", "hirgen_llama_mlp", "hirgen_llama_mlp_backward")
	command(t, own.dir(), "cmake", "--install", build, "--component", "python", "--prefix", prefix)
	if left, _ := filepath.Glob(filepath.Join(prefix, "*")); len(left) != 1 {
		t.Errorf("the component python leaves more than the package: %v", left)
	}
	command(t, own.dir(), python, "-m", "compileall", "-q", "python")

	r := run(t, launch.Options{Program: python, Foreign: true, N: 2, Args: []string{
		filepath.Join("testdata", "without_torch.py"), filepath.Join(own.dir(), "python", "llama_mlp", "runtime"),
		filepath.Join(prefix, "llama_mlp", "lib"),
	}})
	if r.exit != 0 || strings.Count(r.stdout, "right, and a null pointer is an exception") != 2 {
		t.Error(r)
	}
}

// gradientOf lowers a spec's forward and backward pass.
func gradientOf(t *testing.T, path string, values params) (forward, backward *calls.Described) {
	t.Helper()
	pipeline, _, err := model.LoadFile(path, values)
	if err != nil {
		t.Fatal(err)
	}
	axes, err := lowering.Axes(pipeline)
	if err != nil {
		t.Fatal(err)
	}
	pass, err := grad.Backward(pipeline, grad.Options{Axes: axes})
	if err != nil {
		t.Fatal(err)
	}
	var programs []*calls.Described
	for _, text := range []string{pass.Forward, pass.Text} {
		loaded, err := model.Load("spec.yaml", []byte(text), values)
		if err != nil {
			t.Fatal(err)
		}
		program, err := lowering.Lower(loaded, lowering.Options{Verify: true})
		if err != nil {
			t.Fatal(err)
		}
		programs = append(programs, program)
	}
	return programs[0], programs[1]
}
