package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/launch"
)

// TestMemoryIsFreedAsTheCallsSay checks a program on two ranks that share memory. A rank exports memory before its peer
// imports it. All imported memory is closed before any exported memory is freed. The last communicator is destroyed
// after the last close. All memory is freed, and once.
func TestMemoryIsFreedAsTheCallsSay(t *testing.T) {
	spec, values := example(t, "../../testdata/specs/matmul_ar_p2p/spec.yaml", row(2))
	program := examples.make(t, spec, values)
	lines := lives(t, program)
	first, last := map[string]int{}, map[string]int{}
	counts, exported, live := map[string]int{}, map[string]int{}, map[string]bool{}
	for i, line := range lines {
		process, what, address := line[0], line[1], line[0]+line[2]
		counts[process+" "+what]++
		switch what {
		case "allocate":
			live[address] = true
		case "export":
			exported[address]++
		case "import":
			for other, n := range exportsOf(lines[:i]) {
				if other != process && n < counts[process+" import"] {
					t.Errorf("process %s imports its handle %d, and %s has exported %d", process, counts[process+" import"], other, n)
				}
			}
		case "free":
			if !live[address] {
				t.Errorf("process %s frees %s, which it has not", process, line[2])
			}
			delete(live, address)
			if exported[address] > 0 {
				what = "free what is shared"
			}
		}
		if _, again := first[what]; !again {
			first[what] = i
		}
		last[what] = i
	}
	for address := range live {
		t.Errorf("%s is never freed", address)
	}
	for process, n := range exportsOf(lines) {
		if n < 2 || counts[process+" import"] != n || counts[process+" close"] != n {
			t.Errorf("process %s has %d exports, %d imports, %d closes", process, n, counts[process+" import"], counts[process+" close"])
		}
	}
	if len(exported) < 4 || last["close"] > first["free what is shared"] || last["destroy"] < last["close"] {
		t.Errorf("line %d closes last, line %d frees first, line %d destroys last:\n%v", last["close"], first["free what is shared"],
			last["destroy"], lines)
	}
}

// exportsOf counts the exports of each process.
func exportsOf(lines [][]string) map[string]int {
	counts := map[string]int{}
	for _, line := range lines {
		if line[1] == "export" {
			counts[line[0]]++
		}
	}
	return counts
}

// lives runs a program on two ranks and returns what they create and release, in order, as process, action and address.
func lives(t *testing.T, program string) (lines [][]string) {
	t.Helper()
	folder := t.TempDir()
	between, log := filepath.Join(folder, "lives.so"), filepath.Join(folder, "log")
	compile := exec.CommandContext(t.Context(), "cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", between,
		filepath.Join("testdata", "lives.c"), "-I../../runtime_cpp/cpu/include", "-ldl")
	if text, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	run(t, launch.Options{
		Program: program, N: 2, Args: append([]string{"--transport", "ipc"}, brief...),
		Env: []string{"LD_PRELOAD=" + between, "LIVES_LOG=" + log},
	}).mustPass(t)
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		lines = append(lines, strings.Fields(line))
	}
	return lines
}
