package unroll_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/calls/text"
	"github.com/hirgen/hirgen/internal/tools/provetest"
	"github.com/hirgen/hirgen/prove/unroll"
)

// TestPrograms unrolls every example, and expects no faults.
func TestPrograms(t *testing.T) {
	for _, c := range provetest.Examples(t) {
		for _, p := range c.Programs {
			u, err := unroll.Unroll(p, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range u.Faults {
				t.Errorf("%s: rank %d %s: %s", c.Name, f.Rank, f.Kind, f.Text)
			}
			if u.Operations() == 0 {
				t.Errorf("%s: nothing is issued", c.Name)
			}
		}
	}
}

const twoRanks = `calls p from "spec.yaml"
streams 1
Param(name D, spec "D", value 2)
Mesh(name mesh_world, label "world", axes "x of D", extents [D])
Team(name x_, mesh mesh_world, where "spec.yaml:1:1 mesh world")
Argument(name A, tensor "A", type bf16, used, elements 4)
Argument(name C, tensor "C", type bf16, output, used, elements 4 * D)
Buffer(name P_, type bf16, elements 4 * D, where "spec.yaml:2:5 P")
Events(name ready_, label "ready", count 1, where kGather)
Share(name P_ipc, shape kPShared, memory P_, tensor "P", elements 4 * D, type bf16, transfers D, label kGather)
Label(name kGather, text "spec.yaml:3:5 gather")

Let(name rank)
DeclareStream(name copy)
BeginCall(share P_ipc)
EventRecord(event ready_, index 0, on caller) @3:5 kGather
StreamWait(event ready_, index 0, on x_.stream) @3:5 kGather
NcclCall(kind allgather, in A, out C, count 4, type bf16, on x_.stream, team x_) @3:5 kGather
For(var s, first 1, count D): @3:5
  Let(name to, value (rank + s) % D)
  FlagWait(share P_ipc, transfer s, on copy) @3:5 kGather
  Memcpy(out P_ipc[to] + rank * 4, in A, elements 4, type bf16, on copy) @3:5 kGather
  FlagWrite(share P_ipc, done, transfer s, peer to, on copy) @3:5 kGather
Launch(kernel reduce, fn "sum", out C, out_extents [1, 4], out_strides [0, 1], a P_, a_extents [D, 2], a_strides [4, 1], out_type bf16, in_type bf16, on compute[0]) @4:5 kGather
`

func TestUnroll(t *testing.T) {
	p, err := text.Parse("p.calls", twoRanks)
	if err != nil {
		t.Fatal(err)
	}
	u, err := unroll.Unroll(p, nil)
	if err != nil || len(u.Faults) > 0 {
		t.Fatalf("%v, faults %v", err, u.Faults)
	}
	want := `0 caller: the caller (before the call) writes A [0, 8) writes C [0, 16)
1 caller: BeginCall P_ipc
2 caller: EventRecord kGather event 0
3 x_.stream: StreamWait kGather for 2
4 x_.stream: NcclCall kGather writes C [0, 16) reads A [0, 8) allgather over [0 1] of 4
5 copy: FlagWait kGather s=1 waits P_ipc ready[1] of rank 1
6 copy: Memcpy kGather s=1 writes P_ of rank 0 [8, 16) reads A [0, 8)
7 copy: FlagWrite kGather s=1 sets P_ipc done[1] of rank 0
8 compute[0]: Launch kGather writes C [0, 8) reads P_ [0, 12) as [2 2] by [4 1]
9 caller: the caller (behind the call) writes A [0, 8) reads C [0, 16)
`
	if diff := cmp.Diff(want, u.Print(1)); diff != "" {
		t.Error(diff)
	}
}

// TestFaults changes a line of a program, and expects a fault.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ old, replacement, want string }{
		{"in A, out C, count 4", "in A, out C, count 5", "bounds: bytes 0 to 20 are outside of C, which has 16"},
		{"out P_ipc[to] + rank * 4", "out P_ipc[to] + rank * 8", "bounds: bytes 16 to 24 are outside of P_, which has 16"},
		{"P_ipc[to]", "P_ipc[to + 2]", "value: there is no rank 3 among 2"},
		{"done, transfer s, peer to", "done, transfer s + 1, peer to", "value: there is no transfer 2 among 2"},
		{"(event ready_, index 0, on x_", "(event ready_, index 1, on x_", "value: there is no event 1 among 1 of ready_"},
		{"on compute[0]", "on compute[1]", "value: there is no compute stream 1 among 1"},
		{"a P_,", "a Q_,", "name: nothing is called Q_"},
		{"elements 4, type bf16, on copy", "elements 4, type fp32, on copy", "type: elements of bf16 are taken for fp32 in P_"},
		{"(rank + s) % D", "(rank + s) / D", "value: to has no value"},
	} {
		p, err := text.Parse("p.calls", strings.Replace(twoRanks, c.old, c.replacement, 1))
		if err != nil {
			t.Fatalf("%s: %v", c.replacement, err)
		}
		u, err := unroll.Unroll(p, nil)
		if err != nil || len(u.Faults) == 0 {
			t.Fatalf("%s: %v, want %s", c.replacement, err, c.want)
		}
		if got := string(u.Faults[0].Kind) + ": " + u.Faults[0].Text; got != c.want {
			t.Errorf("%s: %s, want %s", c.replacement, got, c.want)
		}
	}
}
