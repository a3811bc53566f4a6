package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/hirgen/hirgen/internal/launch"
	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/lowering/calls/fromhost"
	"github.com/hirgen/hirgen/lowering/hostir/text"
)

// TestMemoryIsWhatCheckSays: a program with buffers in the memory of others, and worker streams with workspaces, allocates as
// many bytes as hirgen check prints.
func TestMemoryIsWhatCheckSays(t *testing.T) {
	spec, values := example(t, "../../testdata/specs/mlp_sp/spec.yaml", row(2))
	program := examples.make(t, spec, values)
	p, err := text.Parse("host_ir.txt", examples.source(t, "host_ir.txt"))
	if err != nil {
		t.Fatal(err)
	}
	lowered, err := fromhost.Lower(p)
	if err != nil {
		t.Fatal(err)
	}
	want := lowered.Memory()
	if want.Unshared <= want.Buffers || want.Workspaces == 0 {
		t.Errorf("%+v: no buffers share memory, or there are no workspaces", want)
	}
	path := filepath.Join(t.TempDir(), "report.json")
	run(t, launch.Options{Program: program, N: 2, Args: append([]string{"--json", path}, brief...)}).mustPass(t)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Memory int64 `json:"memory_bytes"`
	}
	if err := json.Unmarshal(data, &report); err != nil || report.Memory != want.Total() {
		t.Errorf("%v: the program allocates %d bytes, want %d", err, report.Memory, want.Total())
	}
}

// TestWorkspacesAreTheRuntimes: Go and C++ say how large they are.
func TestWorkspacesAreTheRuntimes(t *testing.T) {
	data, err := os.ReadFile("../../runtime_cpp/include/hirgen/matmul.hpp")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`kWorkspaceBytes = size_t\{(\d+)\} << (\d+);`).FindSubmatch(data)
	if found == nil {
		t.Fatal("kWorkspaceBytes is not there")
	}
	number, _ := strconv.Atoi(string(found[1]))
	shift, _ := strconv.Atoi(string(found[2]))
	if number<<shift != calls.WorkspaceBytes {
		t.Errorf("kWorkspaceBytes is %s << %s, and calls.WorkspaceBytes %d", found[1], found[2], calls.WorkspaceBytes)
	}
}
