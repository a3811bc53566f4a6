package runtime_cpp

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestKernelsHaveLongExtents checks that tests/math/extents*.cpp, which test index arithmetic around 2^31 and 2^32,
// name each kernel and each functor that is called for elements, blocks or rows, except those without a long index.
func TestKernelsHaveLongExtents(t *testing.T) {
	files, err := filepath.Glob("tests/math/extents*.cpp")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	var tests strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(text)
	}
	// The kernels and functors without a long index. They access at most one element per thread; ReductionTask passes
	// all elements to add_strided.
	without := []string{"flag_kernel", "Increment", "DelayKernel", "ReductionTask", "Nothing"}
	kernels := kernelNames(t)
	if len(kernels) < 30 {
		t.Errorf("only %d kernels were found: %v", len(kernels), kernels)
	}
	for _, name := range kernels {
		if !slices.Contains(without, name) && !regexp.MustCompile(`\b`+name+`\b`).MatchString(tests.String()) {
			t.Errorf("%s is in no test of long extents, tests/math/extents*.cpp", name)
		}
	}
}

var (
	bounds  = regexp.MustCompile(`__launch_bounds__\((?:[^()]|\([^()]*\))*\)`)
	kernel  = regexp.MustCompile(`__global__ void\s+(\w+)\(`)
	functor = regexp.MustCompile(`(?m)^\s*struct (\w+)|void operator\(\)\(int64_t`)
)

// kernelNames returns the names of the kernels of the runtime, and of the structs with a call operator whose first
// parameter is an int64_t.
func kernelNames(t *testing.T) (names []string) {
	t.Helper()
	err := fs.WalkDir(FS, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".cu") && !strings.HasSuffix(path, ".hpp") {
			return err
		}
		text, err := FS.ReadFile(path)
		if err != nil {
			return err
		}
		for _, match := range kernel.FindAllSubmatch(bounds.ReplaceAll(text, nil), -1) {
			names = append(names, string(match[1]))
		}
		name := ""
		for _, match := range functor.FindAllSubmatch(text, -1) {
			if match[1] != nil {
				name = string(match[1])
			} else if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
