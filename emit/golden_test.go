package emit_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/internal/tools/launch"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/hostir/verify"
	"github.com/hirgen/hirgen/model"
)

var update = flag.Bool("update", false, "store what is emitted, after building it and running it on the CPU device")

const goldenDir = "../testdata/golden"

// goldenCases lists the folders of testdata/golden, which cover cases that no example of generated/ has. Each has a
// spec.yaml or, for statements that no pass makes, a program.hir. want/ has the generated sources that no example
// has (see varying).
func goldenCases(t *testing.T) []string {
	t.Helper()
	return folders(t, goldenDir)
}

// loadCase returns the host program of a case: it parses program.hir, or else lowers spec.yaml.
func loadCase(t *testing.T, name string) *hostir.Program {
	t.Helper()
	dir := filepath.Join(goldenDir, name)
	if source, err := os.ReadFile(filepath.Join(dir, "program.hir")); err == nil {
		p, err := text.Parse("program.hir", string(source))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	return lowerSpec(t, filepath.Join(dir, "spec.yaml"))
}

func lowerSpec(t *testing.T, path string) *hostir.Program {
	t.Helper()
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pipeline, err := model.Load(filepath.Base(path), source, nil)
	if err != nil {
		t.Fatal(err)
	}
	program, err := lowering.Host(pipeline, lowering.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// renderHost lowers a host program to calls and renders it.
func renderHost(p *hostir.Program, opt emit.Options) ([]emit.File, error) {
	lowered, err := lowering.Calls(p, lowering.Options{})
	if err != nil {
		return nil, err
	}
	return emit.Render(lowered, opt)
}

func render(t *testing.T, p *hostir.Program) []emit.File {
	t.Helper()
	files, err := renderHost(p, emit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// varying returns the files for want/: the top-level sources that differ from all examples (shown) by more than the
// name and positions.
func varying(program string, files []emit.File, shown map[string]bool) []emit.File {
	return slices.DeleteFunc(slices.Clone(files), func(f emit.File) bool {
		isSource := slices.Contains([]string{".cpp", ".hpp", ".cu", ".cuh"}, filepath.Ext(f.Path))
		return strings.Contains(f.Path, "/") || !isSource || shown[unnamed(program, f)]
	})
}

func TestGolden(t *testing.T) {
	shown := shownBy(t, folders(t, specsDir)...)
	for _, name := range goldenCases(t) {
		t.Run(name, func(t *testing.T) {
			program := loadCase(t, name)
			if err := verify.Program(program); err != nil {
				t.Fatalf("the case itself is wrong:\n%v", err)
			}
			files := render(t, program)
			stored := varying(name, files, shown)
			changed := compareGolden(t, name, stored)
			if len(changed) == 0 {
				return
			}
			if !*update {
				t.Fatalf("differs from what was built and checked: %s; see the change with git after \"make golden\"",
					strings.Join(changed, ", "))
			}
			mustCompute(t, files, program)
			storeGolden(t, name, stored)
		})
	}
}

// compareGolden lists the files that want/ lacks or has with other text, and the files of want/ that are not in files.
func compareGolden(t *testing.T, name string, files []emit.File) []string {
	t.Helper()
	want := filepath.Join(goldenDir, name, "want")
	var changed []string
	known := map[string]bool{}
	for _, f := range files {
		known[f.Path] = true
		data, err := os.ReadFile(filepath.Join(want, f.Path))
		if err != nil || !bytes.Equal(data, f.Data) {
			changed = append(changed, f.Path)
		}
	}
	entries, err := os.ReadDir(want)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !known[e.Name()] {
			changed = append(changed, e.Name())
		}
	}
	slices.Sort(changed)
	return changed
}

// mustCompute builds a program for the CPU device and runs it with five seeds, which order the work differently. A
// program with a fallback variant runs once more per seed, with the NCCL transport.
func mustCompute(t *testing.T, files []emit.File, program *hostir.Program) {
	t.Helper()
	dir := t.TempDir()
	if _, err := emit.Write(dir, files, emit.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	binary, err := launch.Build(t.Context(), launch.BuildOptions{
		Dir: dir, Device: launch.CPU, Cache: []string{"CMAKE_CXX_FLAGS_RELEASE=-O0"},
	})
	if failure := (*launch.EnvironmentError)(nil); errors.As(err, &failure) {
		t.Fatalf("%v; not stored\n%s", err, failure.Output)
	}
	if err != nil {
		t.Fatal(err)
	}
	args := [][]string{{"--iters", "2", "--repeats", "1", "--checks", "3"}}
	if program.Fallback != nil {
		args = append(args, append(slices.Clone(args[0]), "--transport", "nccl"))
	}
	for i := range 5 * len(args) {
		var out bytes.Buffer
		exit, err := launch.Run(t.Context(), launch.Options{
			Program: binary, N: program.Meshes[0].Size(), Seed: int64(i / len(args)), Timeout: time.Minute,
			Args: args[i%len(args)], Stdout: &out, Stderr: &out,
		})
		if err != nil || exit != 0 || !strings.Contains(out.String(), " 0 wrong elements") {
			t.Fatalf("run %d: exit code %d, error %v; not stored\n%s", i, exit, err, &out)
		}
	}
}

func storeGolden(t *testing.T, name string, files []emit.File) {
	t.Helper()
	want := filepath.Join(goldenDir, name, "want")
	if err := os.RemoveAll(want); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(want, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(want, f.Path), f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
