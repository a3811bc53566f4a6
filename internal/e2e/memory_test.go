package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/tools/launch"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir/text"
)

// TestMemoryIsWhatCheckSays checks that a program allocates as many bytes of buffers and of shared memory as hirgen
// check prints, and at most as many of workspaces. The examples cover buffers in the memory of others, worker streams
// with workspaces, an attention, and memory that ranks share.
func TestMemoryIsWhatCheckSays(t *testing.T) {
	examples, seen := examples.beside(t), calls.Memory{}
	for _, name := range []string{"mlp_sp", "matmul_ar_p2p", "transformer_block_backward"} {
		t.Run(name, func(t *testing.T) {
			spec, values := example(t, "../../testdata/specs/"+name+"/spec.yaml", row(2))
			program := examples.make(t, spec, values)
			p, err := text.Parse("host_ir.txt", examples.source(t, "host_ir.txt"))
			if err != nil {
				t.Fatal(err)
			}
			lowered, err := lowering.Calls(p, lowering.Options{})
			if err != nil {
				t.Fatal(err)
			}
			want := lowered.Memory()
			path := filepath.Join(t.TempDir(), "report.json")
			run(t, launch.Options{Program: program, N: 2, Args: append([]string{"--json", path}, brief...)}).mustPass(t)
			got := memoryIn(t, path)
			if got.Buffers != want.Buffers || got.IPC != want.IPC || got.Workspaces > want.Workspaces || got.Workspaces == 0 {
				t.Errorf("the program allocates %+v, want %+v", got, want)
			}
			seen.Unshared += want.Unshared - want.Total()
			seen.Workspaces, seen.IPC, seen.Attentions = seen.Workspaces+want.Workspaces, seen.IPC+want.IPC, seen.Attentions || want.Attentions
		})
	}
	if seen.Unshared == 0 || seen.Workspaces == 0 || seen.IPC == 0 || !seen.Attentions {
		t.Errorf("%+v: some kind of memory is in none of the programs", seen)
	}
}

// memory is what a program allocates in addition to its arguments, in bytes.
type memory struct{ Buffers, Workspaces, IPC int64 }

// memoryIn reads the memory of a report, and checks its sum.
func memoryIn(t *testing.T, path string) memory {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Memory memory
		Total  int64 `json:"memory_bytes"`
	}
	if err := json.Unmarshal(data, &report); err != nil {
		t.Fatal(err)
	}
	if m := report.Memory; report.Total != m.Buffers+m.Workspaces+m.IPC {
		t.Errorf("%d bytes in all are not the sum of %+v", report.Total, m)
	}
	return report.Memory
}

// TestWorkspacesAreTheRuntimes checks that Go and C++ have the same size of workspaces.
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

// TestBuffersOfTwoTypesShareMemory runs a backward pass in bf16 with gradients of norms in fp32, each operation in its
// own kernel. Buffers of both types share one memory. Some reuse bytes of a buffer of the other type, or of an output
// that is not written yet.
func TestBuffersOfTwoTypesShareMemory(t *testing.T) {
	spec, err := os.ReadFile("../../testdata/layers/llama_block_sp_backward.yaml")
	if err != nil {
		t.Fatal(err)
	}
	layers := folder{"layers"}
	single := strings.Replace(string(spec), "schedule: {", "schedule: {kernels: single, ", 1)
	layers.runs(t, renamed.ReplaceAllString(single, "name: layer"), params{"D": 2}, seedsOf(6))
	source := layers.source(t, "layer.cpp")
	for _, want := range []string{`\b(?:fp32|bf16)\* memory_ = `,
		`\b(?:fp32|bf16)\* \w+ = reinterpret_cast<(?:fp32|bf16)\*>\(memory_ \+ \d+\);`,
		`\bfp32\* \w+ = reinterpret_cast<fp32\*>\(\w+( \+ \d+)?\);`, `// Buffers in outputs that are written later`} {
		if !regexp.MustCompile(want).MatchString(source) {
			t.Errorf("no buffer is declared as %s", want)
		}
	}
}
