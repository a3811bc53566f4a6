package launch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// project writes the smallest folder that looks like an emitted one.
func project(t *testing.T, source string) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{
		"CMakePresets.json": `{"version": 3, "configurePresets": [{"name": "cpu", "generator": "Ninja", "binaryDir": "${sourceDir}/build/cpu"}]}`,
		"CMakeLists.txt":    "cmake_minimum_required(VERSION 3.22)\nproject(toy CXX)\nadd_executable(toy toy.cpp)\n",
		"toy.cpp":           source,
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestBuildMakesAProgramAndFollowsChanges builds a program, changes its source and builds it again. The relative path of
// the build folder is relative to the working directory, not to dir.
func TestBuildMakesAProgramAndFollowsChanges(t *testing.T) {
	dir := project(t, "int main() { return 3; }\n")
	t.Chdir(t.TempDir())
	for _, want := range []int{3, 4} {
		source := "int main() { return " + string(rune('0'+want)) + "; }\n"
		if err := os.WriteFile(filepath.Join(dir, "toy.cpp"), []byte(source), 0o644); err != nil {
			t.Fatal(err)
		}
		program, err := Build(t.Context(), BuildOptions{Dir: dir, Device: CPU, Folder: "built"})
		if err != nil {
			t.Fatal(err)
		}
		if exit, _, _ := run(t, t.Context(), Options{Program: program, N: 1}); exit != want {
			t.Errorf("exit code %d, want %d", exit, want)
		}
	}
}

func TestBuildOfAMovedFolderStartsAfresh(t *testing.T) {
	dir := project(t, "int main() {}\n")
	if _, err := Build(t.Context(), BuildOptions{Dir: dir, Device: CPU}); err != nil {
		t.Fatal(err)
	}
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	program, err := Build(t.Context(), BuildOptions{Dir: moved, Device: CPU})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(program, moved) {
		t.Errorf("program %s is not under %s", program, moved)
	}
}

func TestBuildShowsWhatTheCompilerSaid(t *testing.T) {
	_, err := Build(t.Context(), BuildOptions{Dir: project(t, "int main( {}\n"), Device: CPU})
	failure := (*EnvironmentError)(nil)
	if !errors.As(err, &failure) || !strings.Contains(failure.Output, "toy.cpp:1") {
		t.Errorf("got %v", err)
	}
}

func TestBuildSaysWhatIsMissing(t *testing.T) {
	dir := project(t, "int main() {}\n")
	t.Run("folder", func(t *testing.T) {
		_, err := Build(t.Context(), BuildOptions{Dir: t.TempDir(), Device: CPU})
		if err == nil || !strings.Contains(err.Error(), "hirgen emit SPEC -o") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("tools", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		_, err := Build(t.Context(), BuildOptions{Dir: dir, Device: CPU})
		want := "cmake, ninja, c++ not found; install with: sudo apt-get install cmake ninja-build g++ (hirgen doctor looks at all that this " +
			"machine has)"
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}

// TestBuildEndsItsCompilers cancels a build while its compiler runs. Soon after Build returns, ninja and the compiler must be gone.
func TestBuildEndsItsCompilers(t *testing.T) {
	dir, pids := project(t, "int main() {}\n"), filepath.Join(t.TempDir(), "pids")
	compiler := script(t, "echo $PPID $$ >> "+pids+".new && mv "+pids+".new "+pids+"; exec sleep 30")
	list := "cmake_minimum_required(VERSION 3.22)\nproject(toy CXX)\nadd_executable(toy toy.cpp)\n" +
		"set_property(TARGET toy PROPERTY CXX_COMPILER_LAUNCHER " + compiler + ")\n"
	if err := os.WriteFile(filepath.Join(dir, "CMakeLists.txt"), []byte(list), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(pids); err == nil {
				cancel()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	start := time.Now()
	if _, err := Build(ctx, BuildOptions{Dir: dir, Device: CPU}); !errors.Is(err, context.Canceled) || time.Since(start) > 15*time.Second {
		t.Errorf("got %v after %v", err, time.Since(start))
	}
	text, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		for wait := 0; alive(pid); wait++ {
			if time.Sleep(10 * time.Millisecond); wait == 300 {
				t.Errorf("process %d is left", pid)
				_ = syscall.Kill(pid, syscall.SIGKILL)
				break
			}
		}
	}
}
