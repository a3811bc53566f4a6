package e2e

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/internal/tools/launch"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
)

// scratch is the folder in which the tests emit and build. If HIRGEN_E2E_DIR, an absolute path, names it, the next run
// need not compile most of it again. Otherwise it is temporary.
var scratch = os.Getenv("HIRGEN_E2E_DIR")

func TestMain(m *testing.M) {
	// A processor is idle for a third of a test: while ranks wait for each other, and in CMake. So one test more than there
	// are processors runs in parallel, unless -parallel sets the number.
	flag.Parse()
	if p := flag.Lookup("test.parallel").Value; p.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		if err := p.Set(strconv.Itoa(runtime.GOMAXPROCS(0) + 1)); err != nil {
			panic(err)
		}
	}
	os.Exit(func() int {
		if scratch == "" {
			dir, err := os.MkdirTemp("", "hirgen-e2e-")
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			defer os.RemoveAll(dir)
			scratch = dir
		}
		os.Setenv("HIRGEN_CPU_ACCESSES", "1") // in all builds: they share one runtime
		return m.Run()
	}())
}

// params has values of a spec's parameters.
type params map[string]int64

// folder is an emitted folder that cases use one after the other. All folders share one compiled runtime.
type folder struct{ name string }

// shared is the folder of all cases that need no build of their own.
var shared = folder{"shared"}

// lanes has the copies of folders for tests that run in parallel, by the folder's name: those that are free, and how
// many were made.
var lanes = struct {
	sync.Mutex
	free map[string][]folder
	made map[string]int
}{free: map[string][]folder{}, made: map[string]int{}}

// beside lets a test run in parallel with others that call it, and returns a copy of the folder that only this test
// uses until it ends. There are never more copies than tests that run at once (-parallel). A case leaves processors
// idle while its ranks wait for each other, and while CMake and the linker run.
func (f folder) beside(t *testing.T) folder {
	t.Helper()
	t.Parallel()
	lanes.Lock()
	defer lanes.Unlock()
	lane := folder{fmt.Sprintf("%s-%d", f.name, lanes.made[f.name])}
	if free := lanes.free[f.name]; len(free) > 0 {
		lane, lanes.free[f.name] = free[len(free)-1], free[:len(free)-1]
	} else {
		lanes.made[f.name]++
	}
	t.Cleanup(func() {
		lanes.Lock()
		defer lanes.Unlock()
		lanes.free[f.name] = append(lanes.free[f.name], lane)
	})
	return lane
}

func (f folder) dir() string { return filepath.Join(scratch, f.name) }

// cacheFolder is where folders find a compiled runtime, or leave theirs for the others.
func cacheFolder() string { return filepath.Join(scratch, "cache") }

// emit loads, lowers and writes a spec; it returns the pipeline, which is the oracle.
func (f folder) emit(t *testing.T, spec string, values params) *model.Pipeline {
	t.Helper()
	return f.emitWith(t, spec, values, emit.Packages{})
}

// emitWith is emit with additional packages.
func (f folder) emitWith(t *testing.T, spec string, values params, packages emit.Packages) *model.Pipeline {
	t.Helper()
	pipeline, err := model.Load("spec.yaml", []byte(spec), values)
	if err != nil {
		t.Fatal(err)
	}
	program, err := lowering.Lower(pipeline, lowering.Options{Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	files, err := emit.Render(program, emit.Options{Packages: packages})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := emit.Write(f.dir(), files, emit.WriteOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	return pipeline
}

// first is held while the first runtime is compiled. Other builds wait for it.
var first sync.Mutex

// build builds the emitted program and returns its path. The sources are compiled together, because most of the time
// goes into the headers that they share. scripts/build-generated.sh compiles the sources in generated/ one by one.
func (f folder) build(t *testing.T) string {
	t.Helper()
	unity, _ := filepath.Abs("testdata/unity.cmake")
	return f.buildIn(t, "unity", "CMAKE_UNITY_BUILD:BOOL=ON", "CMAKE_PROJECT_INCLUDE:FILEPATH="+unity)
}

// buildIn builds in a folder below build/, with further settings of CMake, and returns the path of the program.
func (f folder) buildIn(t *testing.T, name string, settings ...string) string {
	t.Helper()
	flags, err := compilerFlags()
	if err != nil {
		t.Fatal(err)
	}
	if compiled, _ := filepath.Glob(filepath.Join(cacheFolder(), "runtime", "*.a")); len(compiled) == 0 {
		first.Lock()
		defer first.Unlock()
	}
	cache := append([]string{"HIRGEN_CACHE:PATH=" + cacheFolder(), "CMAKE_CXX_FLAGS_RELEASE=" + flags}, settings...)
	built := filepath.Join(f.dir(), "build", name)
	program, err := launch.Build(t.Context(), launch.BuildOptions{Dir: f.dir(), Device: launch.CPU, Cache: cache, Folder: built})
	if err != nil {
		if failure := (*launch.EnvironmentError)(nil); errors.As(err, &failure) {
			t.Fatalf("%v\n%s", err, failure.Output)
		}
		t.Fatal(err)
	}
	return program
}

// source reads an emitted file.
func (f folder) source(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir(), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// rebuild replaces the text of an emitted file, and builds the program.
func (f folder) rebuild(t *testing.T, name, text string) string {
	t.Helper()
	if was := f.source(t, name); was == text {
		t.Fatalf("%s has nothing to change\n%s", name, was)
	}
	if err := os.WriteFile(filepath.Join(f.dir(), name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return f.build(t)
}

// transports returns the options that select each transport of the emitted program.
func (f folder) transports() [][]string {
	if sources, _ := filepath.Glob(filepath.Join(f.dir(), "*_across_nodes.cpp")); len(sources) > 0 {
		return [][]string{{"--transport", "ipc"}, {"--transport", "nccl"}}
	}
	return [][]string{nil}
}

// make emits and builds a spec, and returns the path of the program.
func (f folder) make(t *testing.T, spec string, values params) string {
	t.Helper()
	f.emit(t, spec, values)
	return f.build(t)
}

// result is the outcome of a run.
type result struct {
	exit           int
	stdout, stderr string
	took           time.Duration
}

// run runs a program to its end. After a minute it kills the program, and the test fails.
func run(t *testing.T, options launch.Options) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	options.Stdout, options.Stderr = &stdout, &stderr
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	start := time.Now()
	exit, err := launch.Run(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	r := result{exit, stdout.String(), stderr.String(), time.Since(start)}
	if ctx.Err() != nil {
		t.Fatalf("stuck for a minute:\n%s", r)
	}
	return r
}

func (r result) String() string {
	return fmt.Sprintf("exit code %d after %v\nstandard output:\n%s\nstandard error:\n%s", r.exit, r.took, r.stdout, r.stderr)
}

// mustPass fails the test unless the program checked itself and found nothing wrong.
func (r result) mustPass(t *testing.T) {
	t.Helper()
	if r.exit != 0 || r.wrong(t) != 0 {
		t.Fatalf("want #wrong 0 and exit code 0, got %s", r)
	}
}

// wrong reads the #wrong column of the report.
func (r result) wrong(t *testing.T) int {
	t.Helper()
	lines := strings.Split(r.stdout, "\n")
	for i, line := range lines {
		column := columnOf(line, "#wrong")
		if column < 0 {
			continue
		}
		for _, row := range lines[i+1:] {
			if fields := strings.Fields(row); len(fields) > 0 && !strings.HasPrefix(row, "#") && column < len(fields) {
				n, err := strconv.Atoi(fields[column])
				if err != nil {
					t.Fatalf("#wrong is %q in:\n%s", fields[column], r.stdout)
				}
				return n
			}
		}
	}
	t.Fatalf("the report has no #wrong column:\n%s", r)
	return -1
}

// columnOf returns the index of a title in a header line that starts with "#", or -1.
func columnOf(line, title string) int {
	for i, field := range strings.Fields(strings.TrimPrefix(line, "# ")) {
		if field == title {
			return i
		}
	}
	return -1
}

// exits reads the exit codes of ranks from the messages of the launcher. A rank that exited with 0 or was killed has no
// entry.
func (r result) exits() map[int]int {
	codes := map[int]int{}
	for _, found := range regexp.MustCompile(`rank (\d+) exited with code (\d+)`).FindAllStringSubmatch(r.stderr, -1) {
		rank, _ := strconv.Atoi(found[1])
		code, _ := strconv.Atoi(found[2])
		codes[rank] = code
	}
	return codes
}

// reserveTwo reserves two ports, until they are released.
func reserveTwo() (ports [2]int, release func(), err error) {
	first, releaseFirst, err := launch.ReservePort()
	if err != nil {
		return ports, nil, err
	}
	second, releaseSecond, err := launch.ReservePort()
	if err != nil {
		releaseFirst()
		return ports, nil, err
	}
	return [2]int{first, second}, func() { releaseFirst(); releaseSecond() }, nil
}

// script writes an executable script that a test starts. No process may be forked meanwhile: it would inherit the
// open file, and a file that is open for writing cannot be executed.
func script(t *testing.T, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}
