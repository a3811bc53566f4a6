package emit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/model/domain"
)

// header declares the names that the host programs below use.
const header = `program p from "spec.yaml"
param D = 4
param M = 8
mesh world: x = D, ranks 0..3
mesh grid: x = 2, y = 2, ranks 0..3
streams 2
choices
tensor A: bf16 [DIDx(D), M, M], mesh world, input @1:1
tensor B: bf16 [M, M], mesh world, input @2:1
tensor G: bf16 [DIDy(2), M], mesh grid, input @2:1
tensor C: bf16 [D, M, M], mesh world, output @3:1
tensor H: bf16 [2, M], mesh grid, output @3:1
tensor T: bf16 [D, M, M], mesh world, temp @4:1
tensor column: bf16 [M], mesh world, view @5:1
tensor F: fp32 [D, M, M], mesh world, temp @4:1
tensor wide: bf16 [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], mesh world, temp @4:1
tensor turned: bf16 [10, 9, 8, 7, 6, 5, 4, 3, 2, 1], mesh world, temp @4:1

`

func parse(t *testing.T, body string) *hostir.Program {
	t.Helper()
	p, err := text.Parse("test", header+body)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// programText renders a body and returns the program's file.
func programText(t *testing.T, body string) string {
	t.Helper()
	for _, f := range render(t, parse(t, body)) {
		if f.Path == "p.cpp" {
			return string(f.Data)
		}
	}
	t.Fatal("there is no p.cpp")
	return ""
}

func TestStatements(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want []string // parts of p.cpp, in this order
	}{
		"the caller's stream goes by its name": {
			"caller = GetCurrentStream @5:5\nSetCurrentStream(worker 1) @5:5\nSynchronize(caller) @5:5\n",
			[]string{"cudaEventRecord(started_[0], caller)", "cudaStreamWaitEvent(compute_[1], started_[0], 0)"},
		},
		"another stream is the one that it was": {
			"caller = GetCurrentStream @5:5\nT = Allocate @5:5\nSetCurrentStream(worker 1) @5:5\nT = Set(C) @5:5\nSetCurrentStream(caller) " +
				"@5:5\nSynchronize(worker 1) @5:5\n",
			[]string{"cudaMemcpyDeviceToDevice, compute_[1])", "cudaEventRecord(joined_[1], compute_[1])",
				"cudaStreamWaitEvent(caller, joined_[1], 0)"},
		},
		"of waits in a loop the last one implies the others": {
			"T = Allocate @5:5\nFor s in D:\n  g = Communication(Allgather, mesh world axis x, in A, out T, NCCL) @5:5\nFor w in D:\n  " +
				"Wait(g) @6:5\n",
			[]string{"cudaEventRecord(after_allgather_A_[s], x_.stream)", "cudaStreamWaitEvent(caller, after_allgather_A_[D - 1], 0)"},
		},
		"nested loops number their iterations": {
			"T = Allocate @5:5\nFor s in D:\n  For u in M:\n    g = Communication(Allgather, mesh world axis x, in A, out T, NCCL) @5:5\n    " +
				"Wait(g) @6:5\n",
			[]string{`hirgen::Events after_allgather_A_ = context_.events("after_allgather_A", kAllgatherA, D * M);`,
				"cudaEventRecord(after_allgather_A_[s * M + u], caller)"},
		},
		"a wait for an earlier iteration stands before what it waits for": {
			"T = Allocate @5:5\nFor s in D:\n  For u in M:\n    If s != 0: @6:5\n      Wait(g, iteration s - 1) @6:5\n    g = " +
				"Communication(Allgather, mesh world axis x, in A, out T, NCCL) @5:5\nFor s in D:\n  For u in M:\n    Wait(g) @6:5\n",
			[]string{"cudaStreamWaitEvent(caller, after_allgather_A_[(s - 1) * M + u], 0)",
				"cudaEventRecord(after_allgather_A_[s * M + u], x_.stream)"},
		},
		"the notes of passes become sentences": {
			"caller = GetCurrentStream @5:5\nSetCurrentStream(worker 1) @5:5\nSynchronize(caller) @5:5  # why it is there\n",
			[]string{"// Why it is there."},
		},
		"unused views are not declared": {
			"C = Allocate @5:5\ncolumn = Select(B, axis 1, index 0) @5:5\nC = Communication(Allgather, mesh world axis x, in A, out C, NCCL) " +
				"@5:5\nWait(g) @5:5\n",
			[]string{"ncclAllGather(A, C, M * M, ncclBfloat16, x_.comm, caller)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			source := programText(t, strings.ReplaceAll(c.body, "C = Communication", "g = Communication"))
			rest := source
			for _, want := range c.want {
				_, after, found := strings.Cut(rest, want)
				if !found {
					t.Fatalf("%q is missing, or not in its place, in\n%s", want, source)
				}
				rest = after
			}
			if strings.Contains(source, "column") && strings.Contains(name, "unused") {
				t.Error("the view is declared")
			}
		})
	}
}

func TestWhatCannotBePrintedIsAnError(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"shared memory":     {"g = Communication(Allgather, mesh world axis x, in A, out C, IPC-get) @7:5\n", "spec.yaml:7:5: error HG100"},
		"a lonely transfer": {"g = P2PCommunication(send, buffer A, peer 1, IPC-get) @7:5\n", "no ShareMemHandles pairs g"},
		"no transport":      {"g = Communication(Allgather, mesh world axis x, in A, out C) @7:5\n", "spec.yaml:7:5: error HG100"},
		"a strided operand": {"column = Select(B, axis 1, index 0) @6:5\ng = Communication(Broadcast, mesh world axis x, root 0, in column, " +
			"out column, NCCL) @7:5\n", "spec.yaml:7:5: error HG102"},
		"an unknown function":   {"C = Unary(frobnicate, C) @7:5\n", "spec.yaml:7:5: error HG100"},
		"operands of two types": {"F = Allocate @6:5\nC = Binary(add, C, F) @7:5\n", "spec.yaml:7:5: error HG100"},
		"a matmul that casts":   {"F = Allocate @6:5\nC = Matmul(F, B) @7:5\n", "spec.yaml:7:5: error HG100"},
		"too many axes": {"wide = Allocate @6:5\nturned = Allocate @6:5\nturned = Permute(wide, perm [9, 8, 7, 6, 5, 4, 3, 2, 1, " +
			"0]) @7:5\n", "spec.yaml:7:5: error HG100"},
		"a group over two teams": {
			"StartCoalescing @6:5\ng = Communication(Allgather, mesh world axis x, in A, out C, NCCL) @7:5\nh = Communication(Allgather, " +
				"mesh grid " +
				"axis y, in G, out H, NCCL) @8:5\ngroup = EndCoalescing @9:5\n",
			"spec.yaml:8:5: error HG100",
		},
		"a copy that is strided": {"column = Select(B, axis 1, index 0) @6:5\ng = Communication(Broadcast, mesh world axis x, root 0, in " +
			"column, out column, NCCL) @7:5\n", "a communication reads or writes a copy of B, whose"},
		"an unknown reduction": {"T = Allocate @6:5\nT = Reduce(median, C, axis 0) @7:5\n",
			`there is no kernel for the reduction "median"`},
		"a sum that NCCL has not": {"T = Allocate @6:5\ng = Communication(Allreduce, mesh world axis x, reduce median, in C, out T, " +
			"NCCL) @7:5\n", `NCCL cannot reduce by "median"`},
		"a bias of another type": {"F = Allocate @6:5\nC = Linear(A, B, F) @7:5\n",
			"the bias an intermediate result must have dense rows of the result's type, bf16"},
		"a sum that lies differently": {"F = Allocate @6:5\nC = Matmul(A, B, add F) @7:5\n", "to which the matmul is added"},
		"a tensor without memory":     {"T = Unary(relu, C) @7:5\n", "T has no buffer here"},
		"a wait for nothing":          {"Wait(g) @7:5\n", "nothing is named g"},
		"a wait outside the loop": {"T = Allocate @5:5\nFor s in D:\n  g = Communication(Allgather, mesh world axis x, in A, out T, NCCL) " +
			"@5:5\nWait(g) @7:5\n", "the wait is not in"},
		"a group without end": {"StartCoalescing @6:5\ng = Communication(Allgather, mesh world axis x, in A, out C, NCCL) @7:5\n", "no end"},
	} {
		t.Run(name, func(t *testing.T) {
			files, err := renderHost(parse(t, c.body), emit.Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			if files != nil {
				t.Error("there are files beside the error")
			}
		})
	}
}

// TestWrongCallsAreAnError checks that calls that their verifier refuses are not printed.
func TestWrongCallsAreAnError(t *testing.T) {
	p := parse(t, "T = Allocate @5:5\ng = Communication(Allgather, mesh world axis x, in A, out T, NCCL) @5:5\n")
	var list *diag.Errors
	files, err := renderHost(p, emit.Options{})
	if !errors.As(err, &list) || !strings.Contains(err.Error(), "the caller's stream is not behind stream x_") || files != nil {
		t.Errorf("%d files, error %v", len(files), err)
	}
}

func TestProgramNamesAreChecked(t *testing.T) {
	p := parse(t, "")
	for _, name := range []string{"../evil", "a b", "x;y", "", "__x", "${X}", "a-b"} {
		p.Name = name
		var list *diag.Errors
		if _, err := renderHost(p, emit.Options{}); !errors.As(err, &list) {
			t.Errorf("name %q: error %v", name, err)
		}
	}
}

func TestUnknownReferenceOperationsAreAnError(t *testing.T) {
	p := parse(t, "")
	p.Reference = []domain.Operation{{Kind: "set(0); evil", Out: "C", In: []string{"A"}}}
	if _, err := renderHost(p, emit.Options{}); err == nil {
		t.Error("no error")
	}
}

func TestHugeBuffersAreAnError(t *testing.T) {
	p := parse(t, "T = Allocate @5:5\nT = Set(C) @6:5\n")
	for _, tensor := range p.Tensors {
		for i := range tensor.Axes {
			tensor.Axes[i].Text, tensor.Axes[i].Size = "", 1<<40
		}
	}
	if _, err := renderHost(p, emit.Options{}); err == nil {
		t.Error("no error")
	}
}

func TestSameBytesAnywhere(t *testing.T) {
	for _, name := range goldenCases(t) {
		first, second := render(t, loadCase(t, name)), render(t, loadCase(t, name))
		if len(first) != len(second) {
			t.Fatalf("%s: %d files, then %d", name, len(first), len(second))
		}
		for i := range first {
			if first[i].Path != second[i].Path || !bytes.Equal(first[i].Data, second[i].Data) {
				t.Errorf("%s: %s differs from one time to the next", name, first[i].Path)
			}
		}
	}
}

// machine matches absolute paths below usual folders, and dates, which would make a folder depend on the
// author's machine.
var machine = regexp.MustCompile(`(^|[\s"'=(])/(home|root|tmp|work|Users|var)/|20[0-9]{2}-[01][0-9]-[0-3][0-9]`)

func TestNothingOfTheMachineLeaks(t *testing.T) {
	p := loadExample(t, "ag_matmul")
	p.File = "/home/someone/secret/spec.yaml"
	for _, tensor := range p.Tensors {
		tensor.Pos.File = p.File
	}
	for s := range hostir.All(p.Body) {
		s.Meta().Pos.File = p.File
	}
	for _, f := range render(t, p) {
		if found := machine.Find(f.Data); found != nil && f.Path != "host_ir.txt" && f.Path != emit.CallsName {
			t.Errorf("%s holds %q", f.Path, found)
		}
	}
}

func TestManifestListsEveryFile(t *testing.T) {
	files := render(t, loadExample(t, "ag_matmul"))
	var m struct {
		Program, Spec, Hirgen string
		Files                 []struct{ Path, SHA256 string }
	}
	if err := json.Unmarshal(files[len(files)-1].Data, &m); err != nil {
		t.Fatal(err)
	}
	if m.Program != "ag_matmul" || m.Spec != "spec.yaml" || m.Hirgen != "devel" || len(m.Files) != len(files)-1 {
		t.Errorf("manifest of %s (%s, %s) with %d files for %d", m.Program, m.Spec, m.Hirgen, len(m.Files), len(files)-1)
	}
	for i, f := range m.Files {
		if f.Path != files[i].Path || len(f.SHA256) != 64 {
			t.Errorf("entry %d is %v, want %s", i, f, files[i].Path)
		}
	}
}

// TestProgramsAreReadable checks that the .cpp files of two examples have at most 400 lines of at most 110 columns, and
// comments in 10 to 30 percent of the lines.
func TestProgramsAreReadable(t *testing.T) {
	for _, name := range []string{"ag_matmul", "ag_linear"} {
		for _, f := range render(t, loadExample(t, name)) {
			if f.Path != name+".cpp" {
				continue
			}
			lines, comments := strings.Split(string(f.Data), "\n"), 0
			for _, line := range lines {
				if strings.Contains(line, "//") {
					comments++
				}
				if len(line) > 110 {
					t.Errorf("%s: a line of %d columns: %s", f.Path, len(line), line)
				}
			}
			if share := 100 * comments / len(lines); len(lines) > 400 || share < 10 || share > 30 {
				t.Errorf("%s: %d lines, %d %% of them with comments", f.Path, len(lines), share)
			}
		}
	}
}

func TestEmittingIsLinear(t *testing.T) {
	render(t, longProgram(t, 5000)) // quadratic work would take minutes
}

// longProgram returns n pipelines, one after the other.
func longProgram(t *testing.T, n int) *hostir.Program {
	t.Helper()
	p := parse(t, "caller = GetCurrentStream @5:5\nC = Allocate @5:5\n")
	a, c := p.Tensors[0], p.Tensors[4]
	for i := range n {
		temp := &hostir.Tensor{Name: "T", DType: c.DType, Axes: c.Axes, Mesh: c.Mesh}
		info := hostir.Info{Pos: diag.Pos{File: "spec.yaml", Line: i + 1, Col: 1}}
		handle, worker := fmt.Sprintf("gather%d", i), info
		worker.On = hostir.StreamRef{Index: expr.Var("s")}
		p.Body = append(p.Body, &hostir.Allocate{Info: info, Tensor: temp}, &hostir.For{
			Info: info, Var: "s", Count: p.Tensors[4].Axes[0].Extent,
			Body: []hostir.Stmt{
				&hostir.Communication{
					Info: worker, Handle: handle, Type: collective.Allgather, Mesh: c.Mesh, MeshAxis: "x", In: a, Out: temp,
					Backend: hostir.NCCL,
				},
				&hostir.Wait{Info: worker, Handle: handle},
				&hostir.Synchronize{Info: info, Stream: worker.On},
			},
		})
	}
	return p
}
