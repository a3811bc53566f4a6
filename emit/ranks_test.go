package emit_test

import (
	"strings"
	"testing"

	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
)

// emitText emits the text of a spec.
func emitText(t *testing.T, spec string) ([]emit.File, error) {
	t.Helper()
	pipeline, err := model.Load("spec.yaml", []byte(spec), nil)
	if err != nil {
		t.Fatal(err)
	}
	program, err := lowering.Host(pipeline, lowering.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return renderHost(program, emit.Options{})
}

const onTwoOfFour = `hirgen: 1
name: some
mesh: {x: 4}
meshes:
  first: {axes: {x: 2}, ranks: [0, 1]}
tensors:
  A: {axes: [DIDx, 8, 16], mesh: first}
  B: {axes: [16, 12], mesh: first}
  C: {axes: [Stream(2), 8, 12], mesh: first}
ops:
  - C = matmul(A, B)
`

// TestOnlyRanksOfAMeshUseIt checks that the communications and GEMMs of a mesh, and waits, are inside the
// condition on the rank. On other ranks the communicator and the buffers are null.
func TestOnlyRanksOfAMeshUseIt(t *testing.T) {
	for _, schedule := range []string{
		"pipeline: p2p", "preset: reference, pipeline: p2p, initial_waits: fused, joins: after", "pipeline: broadcast",
	} {
		files, err := emitText(t, onTwoOfFour+"schedule: {"+schedule+"}\n")
		if err != nil {
			t.Fatal(err)
		}
		run := body(t, string(files[indexOf(t, files, "some.cpp")].Data))
		rest := outside(run, "if (on_first_) {")
		for _, call := range []string{"first_.comm", "ncclSend", "gemm(", "kWait"} {
			if strings.Contains(rest, call) {
				t.Errorf("%q: %s is not under the condition:\n%s", schedule, call, run)
			}
		}
		if !strings.Contains(run, "gemm(") {
			t.Errorf("%q: the product is missing:\n%s", schedule, run)
		}
	}
}

// outside returns the lines of a text that are not in a block with this head.
func outside(text, head string) string {
	var kept []string
	end := "" // the line that ends the block; empty outside of blocks
	for line := range strings.Lines(text) {
		switch indent, found := strings.CutSuffix(line, head+"\n"); {
		case end == "" && found:
			end = indent + "}\n"
		case end == "":
			kept = append(kept, line)
		case line == end:
			end = ""
		}
	}
	return strings.Join(kept, "")
}

// body returns the text of the function run.
func body(t *testing.T, source string) string {
	t.Helper()
	_, after, ok := strings.Cut(source, "::run(")
	text, _, end := strings.Cut(after, "\n}\n")
	if !ok || !end {
		t.Fatal("there is no run")
	}
	return text
}

func indexOf(t *testing.T, files []emit.File, path string) int {
	t.Helper()
	for i, f := range files {
		if f.Path == path {
			return i
		}
	}
	t.Fatalf("there is no %s", path)
	return -1
}

// TestOnlyRanksOfAMeshShareMemory checks that a shared buffer is declared for its mesh and axis, and that only the ranks of
// this mesh use its flags.
func TestOnlyRanksOfAMeshShareMemory(t *testing.T) {
	for _, schedule := range []string{
		"all: {via: ipc-get}", "all: {via: ipc-put, copy: sm}", "all: {via: ipc-get, lead: all, copy: fused, signals: batched}",
		"all: {via: ipc-put, lead: all, signals: batched}", "graph: true, all: {via: ipc-get}",
	} {
		files, err := emitText(t, onTwoOfFour+"schedule: {pipeline: p2p, "+schedule+"}\n")
		if err != nil {
			t.Fatal(err)
		}
		source := string(files[indexOf(t, files, "some.cpp")].Data)
		for _, line := range []string{".mesh = &mesh_first", ".axis = 0}", "Shared}};"} {
			if !strings.Contains(source, line) {
				t.Errorf("%q: the program does not say %q", schedule, line)
			}
		}
		rest := outside(source, "if (on_first_) {")
		for _, call := range []string{".ready", ".done", ".flags(", ".submit(", "cuStream"} {
			if strings.Contains(rest, call) {
				t.Errorf("%q: %s is not under the condition:\n%s", schedule, call, source)
			}
		}
	}
}
