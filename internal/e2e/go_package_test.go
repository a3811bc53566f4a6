package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/internal/tools/launch"
)

// makeGo emits a program with its Go package, and builds it.
func (f folder) makeGo(t *testing.T, spec string, values params) string {
	t.Helper()
	f.emitWith(t, spec, values, emit.Packages{Go: true})
	return f.buildIn(t, "cpu") // builds where the package looks for the library
}

// goClient compiles a command of testdata/go in its own module, which requires the module of the folder.
func (f folder) goClient(t *testing.T, source, packageName string) string {
	t.Helper()
	dir, module := t.TempDir(), "example/"+packageName
	text, err := os.ReadFile(filepath.Join("testdata", "go", source, "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{"main.go": string(text), "go.mod": "module client\n\ngo 1.22\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command(t, dir, "go", "mod", "edit", "-require="+module+"@v0.0.0", "-replace="+module+"="+filepath.Join(f.dir(), "go"))
	command(t, dir, "go", "vet", ".")
	command(t, dir, "go", "build", "-o", "client", ".")
	return filepath.Join(dir, "client")
}

// TestCallsFromGo runs Go programs on every rank that call the emitted Go package.
func TestCallsFromGo(t *testing.T) {
	inGo := folder{"in_go"}
	llama, err := os.ReadFile(filepath.Join("..", "..", "testdata", "specs", "llama_mlp", "spec.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		source, spec string
		values       params
	}{
		{"ag_matmul", agMatmul(plain), params{"D": 2}},
		{"llama_mlp", string(llama), params{"D": 2, "M": 8, "K": 16, "N": 24}},
	} {
		t.Run(c.source, func(t *testing.T) {
			inGo.makeGo(t, c.spec, c.values)
			client := inGo.goClient(t, c.source, strings.ReplaceAll(c.source, "_", ""))
			r := run(t, launch.Options{Program: client, Foreign: true, N: 2, Args: []string{filepath.Join(t.TempDir(), "gave up")}})
			if r.exit != 0 || strings.Count(r.stdout, "all is right") != 2 {
				t.Error(r)
			}
		})
	}
}

// TestGoPackageOfOddNames runs gofmt, go vet and the example of a package whose tensors have names and types that are
// difficult in Go.
func TestGoPackageOfOddNames(t *testing.T) {
	odd := folder{"odd_go"}
	spec, err := os.ReadFile(filepath.Join("..", "..", "testdata", "go_package", "spec.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	odd.makeGo(t, string(spec), nil)
	dir := filepath.Join(odd.dir(), "go")
	if unformatted, err := exec.CommandContext(t.Context(), "gofmt", "-l", dir).CombinedOutput(); err != nil || len(unformatted) > 0 {
		t.Errorf("gofmt: %s %v", unformatted, err)
	}
	command(t, dir, "go", "vet", "./...")
	example := filepath.Join(t.TempDir(), "example")
	command(t, dir, "go", "build", "-o", example, "./example")
	r := run(t, launch.Options{Program: example, Foreign: true, N: 2})
	for _, want := range []string{"[1] sent begins with 16\n", "code begins with 1\n", "range begins with "} {
		if r.exit != 0 || !strings.Contains(r.stdout, want) {
			t.Errorf("want %q: %s", want, r)
		}
	}
}

// usualCMake returns a folder with a cmake that configures with the flags of all tests, so that they share one compiled
// runtime.
func usualCMake(t *testing.T) string {
	t.Helper()
	flags, err := compilerFlags()
	if err != nil {
		t.Fatal(err)
	}
	cmake, err := exec.LookPath("cmake")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text := fmt.Sprintf("#!/bin/sh\nif [ $1 = --preset ]; then set -- \"$@\" '-DCMAKE_CXX_FLAGS_RELEASE=%s'; fi\nexec %s \"$@\"\n",
		flags, cmake)
	script(t, filepath.Join(dir, "cmake"), text)
	return dir
}

// TestCommandsForGo runs the first three commands of docs/go.md, in a folder where bin and testdata are as in the repository.
func TestCommandsForGo(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "go.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, begun := strings.Cut(string(page), "\n\n    ")
	commands, _, closed := strings.Cut(rest, "\n\n")
	if !begun || !closed || strings.Count(commands, "\n") != 2 {
		t.Fatalf("docs/go.md does not begin with three commands: %q", commands)
	}
	dir := t.TempDir()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	command(t, root, "go", "build", "-o", filepath.Join(dir, "bin", "hirgen"), "./cmd/hirgen")
	if err := os.Symlink(filepath.Join(root, "testdata"), filepath.Join(dir, "testdata")); err != nil {
		t.Fatal(err)
	}
	shell := exec.CommandContext(t.Context(), "sh", "-ec", commands)
	shell.Dir = dir
	shell.Env = append(os.Environ(), "HIRGEN_CACHE="+cacheFolder(), "PATH="+usualCMake(t)+":"+os.Getenv("PATH"))
	output, err := shell.CombinedOutput()
	if want := "C begins with 48\n"; err != nil || strings.Count(string(output), want) != 2 {
		t.Fatalf("%v, want %q of two ranks:\n%s\n%s", err, want, commands, output)
	}
	runInstalled(t, dir)
}

// runInstalled installs the program of dir/out, and runs the example of its Go package against the installed library
// alone.
func runInstalled(t *testing.T, dir string) {
	t.Helper()
	out, prefix := filepath.Join(dir, "out"), filepath.Join(dir, "installed")
	command(t, dir, "cmake", "--install", filepath.Join(out, "build", "cpu"), "--prefix", prefix)
	if err := os.RemoveAll(filepath.Join(out, "build")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PKG_CONFIG_PATH", filepath.Join(prefix, "lib", "pkgconfig"))
	t.Setenv("LD_LIBRARY_PATH", filepath.Join(prefix, "lib"))
	command(t, filepath.Join(out, "go"), "go", "build", "-tags", "installed", "-o", filepath.Join(dir, "example"), "./example")
	r := run(t, launch.Options{Program: filepath.Join(dir, "example"), Foreign: true, N: 2})
	if r.exit != 0 || strings.Count(r.stdout, "C begins with 48\n") != 2 {
		t.Error(r)
	}
}
