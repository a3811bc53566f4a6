package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hirgen/hirgen/internal/base/cache"
)

// TestMain gives the tests a cache folder of their own, so that they do not change the user's cache.
func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "hirgen-launch-")
	if err != nil {
		panic(err)
	}
	_ = os.Setenv(cache.Variable, folder)
	exit := m.Run()
	_ = os.RemoveAll(folder)
	os.Exit(exit)
}

// fakeCMake replaces CMake and ninja. It records its calls in the file $RECORD, configures a program whose runtime
// takes 0.3 s, and creates empty files for program and runtime. Its output looks like that of CMake and ninja.
const fakeCMake = `#!/bin/sh
case "$1" in
--build)
  archive=$(sed -n 's/^HIRGEN_RUNTIME_ARCHIVE:INTERNAL=//p' "$2/CMakeCache.txt")
  if [ -f "$2/busy" ]; then echo overlap >>"$RECORD"; fi
  touch "$2/busy"
  if [ -n "$archive" ] && [ ! -f "$archive" ]; then
    echo runtime >>"$RECORD"
    sleep 0.3
    touch "$archive"
    echo "[1/2] Building CXX object CMakeFiles/hirgen_toy_runtime.dir/Unity/unity_0_cxx.cxx.o"
  fi
  echo program >>"$RECORD"
  touch "$2/toy"
  echo "[2/2] Linking CXX executable toy"
  rm "$2/busy" ;;
*)
  echo "configure $*" >>"$RECORD"
  folder=$(printf '%s\n' "$@" | sed -n '/^-B$/{n;p;}')
  for word; do case "$word" in -DHIRGEN_CACHE*) shared=${word#*=} ;; esac; done
  [ -n "$shared" ] || shared=$(sed -n 's/^HIRGEN_CACHE:STRING=//p' "$folder/CMakeCache.txt")
  echo "-- hirgen: compiling the runtime takes about 40 s"
  [ "$shared" = off ] || mkdir -p "$shared/runtime"
  touch "$folder/build.ninja"
  { echo "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD"; echo "CMAKE_PROJECT_NAME:STATIC=toy"; echo "HIRGEN_CACHE:STRING=$shared"
    [ "$shared" = off ] || echo "HIRGEN_RUNTIME_ARCHIVE:INTERNAL=$shared/runtime/libhirgen_runtime_cpu_0.a"; } >"$folder/CMakeCache.txt" ;;
esac
`

// faked puts fakeCMake first in PATH and sets the cache folder. record returns the recorded calls.
func faked(t *testing.T, folder string) (record func() []string) {
	t.Helper()
	bin, path := t.TempDir(), filepath.Join(t.TempDir(), "record")
	if err := os.WriteFile(filepath.Join(bin, "cmake"), []byte(fakeCMake), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("RECORD", path)
	t.Setenv(cache.Variable, folder)
	return func() []string {
		text, _ := os.ReadFile(path)
		return strings.Split(strings.TrimSpace(string(text)), "\n")
	}
}

// count returns how many lines start with begin.
func count(lines []string, begin string) (n int) {
	for _, line := range lines {
		if strings.HasPrefix(line, begin) {
			n++
		}
	}
	return n
}

// together builds the folders at the same time and returns the progress reports of each build.
func together(t *testing.T, dirs ...string) [][]string {
	t.Helper()
	var all sync.WaitGroup
	told := make([][]string, len(dirs))
	for i, dir := range dirs {
		all.Go(func() {
			_, err := Build(t.Context(), BuildOptions{Dir: dir, Device: CPU, Progress: func(done, all int, next string) {
				told[i] = append(told[i], fmt.Sprintf("%d/%d %s", done, all, next))
			}})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	return told
}

func TestBuildsAtTheSameTimeCompileOneRuntime(t *testing.T) {
	record := faked(t, t.TempDir())
	told := together(t, project(t, ""), project(t, ""), project(t, ""))
	lines := record()
	if count(lines, "runtime") != 1 || count(lines, "program") != 3 {
		t.Errorf("got %q, want one runtime and three programs", lines)
	}
	// A build that waited configures again, because its first configuration was to compile the runtime.
	waited := 0
	for _, lines := range told {
		waited += count(lines, "0/0 waiting for another build, which compiles the runtime")
	}
	if again := count(lines, "configure -S"); waited == 0 || again != waited {
		t.Errorf("%d builds waited and %d configured again", waited, again)
	}
}

func TestBuildsOfOneFolderWaitForEachOther(t *testing.T) {
	record := faked(t, t.TempDir())
	dir := project(t, "")
	told := together(t, dir, dir)
	lines := record()
	if count(lines, "configure") != 1 || count(lines, "program") != 2 || count(lines, "overlap") != 0 {
		t.Errorf("got %q, want one configuration and two builds, one after the other", lines)
	}
	if count(slices.Concat(told...), "0/0 waiting for another build of "+dir) != 1 {
		t.Errorf("nobody was told to wait: %q", told)
	}
}

func TestWithoutAFolderTheProgramHasItsOwnRuntime(t *testing.T) {
	record, dir := faked(t, "off"), project(t, "")
	told := together(t, dir)[0]
	if lines := record(); !strings.HasSuffix(lines[0], "-DHIRGEN_CACHE:STRING=off") {
		t.Errorf("got %q", lines)
	}
	want := "0/0 the runtime is compiled in " + dir + " for this program alone: HIRGEN_CACHE=off"
	if told[0] != want {
		t.Errorf("told %q, want %q first", told, want)
	}
}

func TestTheCallersCacheIsTaken(t *testing.T) {
	record, dir := faked(t, t.TempDir()), project(t, "")
	own := t.TempDir()
	if _, err := Build(t.Context(), BuildOptions{Dir: dir, Device: CPU, Cache: []string{"HIRGEN_CACHE:PATH=" + own}}); err != nil {
		t.Fatal(err)
	}
	if lines := record(); strings.Count(lines[0], "HIRGEN_CACHE") != 1 || !strings.HasSuffix(lines[0], "-DHIRGEN_CACHE:PATH="+own) {
		t.Errorf("got %q", lines)
	}
}

func TestProgressOfABuild(t *testing.T) {
	faked(t, t.TempDir())
	dir := project(t, "")
	want := []string{
		"0/0 configuring " + dir, "0/0 compiling the runtime takes about 40 s",
		"1/2 runtime: unity_0_cxx.cxx", "2/2 linking toy", "0/0 ",
	}
	if told := together(t, dir)[0]; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

func TestNothingToDoIsNothingTold(t *testing.T) {
	dir := project(t, "int main() {}\n")
	if told := together(t, dir)[0]; len(told) == 0 {
		t.Error("the first build told nothing")
	}
	if told := together(t, dir)[0]; len(told) != 0 {
		t.Errorf("the second build told %q", told)
	}
}

func TestStepName(t *testing.T) {
	for said, want := range map[string]string{
		"Building CXX object CMakeFiles/hirgen_x.dir/abi.cpp.o":                       "abi.cpp",
		"Building CXX object CMakeFiles/hirgen_x_runtime.dir/Unity/unity_1_cxx.cxx.o": "runtime: unity_1_cxx.cxx",
		"Linking CXX shared library libhirgen_x.so.3":                                 "linking libhirgen_x.so.3",
		"Re-running CMake...":                     "configuring",
		"Creating library symlink libhirgen_x.so": "Creating library symlink libhirgen_x.so",
	} {
		if got := stepName(said); got != want {
			t.Errorf("%q is %q, want %q", said, got, want)
		}
	}
}
