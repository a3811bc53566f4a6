package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/emit"
)

// configured configures a folder. It returns the output of CMake, and the path of the shared runtime, or "" if none is
// shared.
func configured(t *testing.T, dir string, settings ...string) (said, archive string) {
	t.Helper()
	return configuredIn(t, t.TempDir(), dir, settings...)
}

// configuredIn does the same as the function configured, in the build folder build.
func configuredIn(t *testing.T, build, dir string, settings ...string) (said, archive string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "cmake", append([]string{"--preset", "cpu", "-B", build}, settings...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HIRGEN_CACHE=")
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	cache, err := os.ReadFile(filepath.Join(build, "CMakeCache.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if line := regexp.MustCompile(`(?m)^HIRGEN_RUNTIME_ARCHIVE:INTERNAL=(.*)$`).FindSubmatch(cache); line != nil {
		archive = string(line[1])
	}
	return string(output), archive
}

// TestRuntimeKey configures programs without compiling them: two share a runtime if its sources and its flags are the
// same.
func TestRuntimeKey(t *testing.T) {
	one, other := folder{"key_one"}, folder{"key_other"}
	one.emitWith(t, agMatmul(plain), params{"D": 2}, emit.Packages{})
	other.emitWith(t, agLinear(plain), params{"D": 2}, emit.Packages{})
	shared := t.TempDir()
	set := "-DHIRGEN_CACHE=" + shared
	said, archive := configured(t, one.dir(), set)
	if filepath.Dir(archive) != filepath.Join(shared, "runtime") {
		t.Fatalf("the runtime would be %q", archive)
	}
	if want := "other programs get it from " + filepath.Join(shared, "runtime"); !strings.Contains(said, want) {
		t.Errorf("CMake does not say %q:\n%s", want, said)
	}
	if _, same := configured(t, other.dir(), set); same != archive {
		t.Errorf("another program has another runtime, %s and not %s", same, archive)
	}
	for _, setting := range []string{"-DCMAKE_CXX_FLAGS_RELEASE=-O1", "-DCMAKE_CXX_FLAGS=-g", "-DHIRGEN_SANITIZE=thread",
		"-DCMAKE_CXX_FLAGS=-march=native"} {
		if _, differs := configured(t, one.dir(), set, setting); differs == archive || differs == "" {
			t.Errorf("%s leaves the runtime %q", setting, differs)
		}
	}
	for _, file := range []string{"runtime/cpu/src/*/*.hpp", "runtime/src/*/*.cpp", "cpu.cmake", "CMakeLists.txt"} {
		path := matches(t, other.dir(), file)[0]
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, path, append(bytes.Clone(before), "\nset(CMAKE_POSITION_INDEPENDENT_CODE ON)\n"...))
		if _, differs := configured(t, other.dir(), set); differs == archive {
			t.Errorf("a change of %s leaves the runtime", path)
		}
		writeFile(t, path, before)
	}
}

// TestRuntimeIsNotShared configures a program where there is no folder to share a runtime in.
func TestRuntimeIsNotShared(t *testing.T) {
	own := folder{"key_own"}
	own.emit(t, agMatmul(plain), params{"D": 2})
	file := filepath.Join(t.TempDir(), "file")
	writeFile(t, file, nil)
	for setting, want := range map[string]string{
		"":    " s; HIRGEN_CACHE=<folder> shares it among programs",
		"off": " s; HIRGEN_CACHE=<folder> shares it among programs",
		file:  " s; no other program gets it, as " + file + "/runtime cannot be written",
	} {
		said, archive := configured(t, own.dir(), "-DHIRGEN_CACHE="+setting)
		if archive != "" || !strings.Contains(strings.Join(strings.Fields(said), " "), want) {
			t.Errorf("HIRGEN_CACHE=%s: runtime %q, and CMake does not say %q:\n%s", setting, archive, want, said)
		}
	}
}

// TestRuntimeThatIsGone configures a program that finds a runtime, and again after the runtime was deleted.
func TestRuntimeThatIsGone(t *testing.T) {
	own := folder{"key_gone"}
	own.emit(t, agMatmul(plain), params{"D": 2})
	shared, build := t.TempDir(), t.TempDir()
	set := "-DHIRGEN_CACHE=" + shared
	_, archive := configured(t, own.dir(), set)
	device := strings.NewReplacer("libhirgen_runtime_cpu_", "libhirgen_cpu_", ".a", ".so").Replace(filepath.Base(archive))
	writeFile(t, archive, nil)
	writeFile(t, filepath.Join(shared, "runtime", device), nil)
	if said, _ := configuredIn(t, build, own.dir(), set); !strings.Contains(said, "the compiled runtime is in "+shared) {
		t.Fatalf("CMake did not find the runtime:\n%s", said)
	}
	regenerate := []string{"--build", build, "--target", "build.ninja"}
	if said, err := exec.CommandContext(t.Context(), "cmake", regenerate...).CombinedOutput(); err != nil ||
		strings.Contains(string(said), "hirgen:") {
		t.Errorf("it is configured again though nothing changed: %v\n%s", err, said)
	}
	if err := os.Remove(archive); err != nil {
		t.Fatal(err)
	}
	said, err := exec.CommandContext(t.Context(), "cmake", regenerate...).CombinedOutput()
	if err != nil || !strings.Contains(string(said), "compiling the runtime takes about") {
		t.Errorf("it is not configured again: %v\n%s", err, said)
	}
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
