package interp

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/lowering/hostir/text"
)

const twoRanks = `program p from "spec.yaml"
mesh world: x = 2, ranks 0..1
streams 2
tensor A: bf16 [DIDx(2), 4], mesh world, input
`

// run interprets a program on two ranks: rank r has A = 10r + 1, ..., 10r + 4.
func run(t *testing.T, source string, seed uint64) ([]map[string]*Array, error) {
	t.Helper()
	p, err := text.Parse("p.hir", source)
	if err != nil {
		t.Fatal(err)
	}
	inputs := make([]map[string]*Array, 2)
	for r := range inputs {
		base := float64(10 * r)
		inputs[r] = map[string]*Array{"A": {Shape: []int64{1, 4}, Data: []float64{base + 1, base + 2, base + 3, base + 4}}}
	}
	return Run(p, inputs, seed)
}

func TestInterpretCommunications(t *testing.T) {
	nan := "never written"
	cases := []struct {
		comm, out string
		want      [2][]float64
	}{
		{"Allgather, mesh world axis x, in A", "[2, 4]", [2][]float64{{1, 2, 3, 4, 11, 12, 13, 14}, {1, 2, 3, 4, 11, 12, 13, 14}}},
		{"Gather, mesh world axis x, root 1, in A", "[2, 4]", [2][]float64{nil, {1, 2, 3, 4, 11, 12, 13, 14}}},
		{"Allreduce, mesh world axis x, reduce sum, in A", "[4]", [2][]float64{{12, 14, 16, 18}, {12, 14, 16, 18}}},
		{"Reduce, mesh world axis x, root 0, reduce max, in A", "[4]", [2][]float64{{11, 12, 13, 14}, nil}},
		{"ReduceScatter, mesh world axis x, reduce sum, in A", "[DIDx(2), 2]", [2][]float64{{12, 14}, {16, 18}}},
		{"Broadcast, mesh world axis x, root 1, in A", "[4]", [2][]float64{{11, 12, 13, 14}, {11, 12, 13, 14}}},
		{"Scatter, mesh world axis x, root 1, in A", "[DIDx(2), 2]", [2][]float64{{11, 12}, {13, 14}}},
		{"AllToAll, mesh world axis x, in A", "[DIDx(2), 4]", [2][]float64{{1, 2, 11, 12}, {3, 4, 13, 14}}},
	}
	for _, c := range cases {
		source := twoRanks + "tensor C: bf16 " + c.out + ", mesh world, output\n\nC = Allocate\nh = Communication(" + c.comm +
			", out C, NCCL)\nWait(h)\n"
		for seed := range uint64(4) {
			got, err := run(t, source, seed)
			if err != nil {
				t.Fatalf("%s: %v", c.comm, err)
			}
			for r, want := range c.want {
				if want == nil {
					if v := got[r]["C"].Data[0]; !math.IsNaN(v) {
						t.Errorf("%s: rank %d has %v, want %s", c.comm, r, v, nan)
					}
					continue
				}
				if diff := cmp.Diff(want, got[r]["C"].Data); diff != "" {
					t.Errorf("%s: rank %d: %s", c.comm, r, diff)
				}
			}
		}
	}
}

const exchange = twoRanks + `tensor C: bf16 [4], mesh world, output

C = Allocate
`

// TestInterpretPairs checks that a send completes only with its receive. In a group, send and receive progress
// at the same time. One after the other, they deadlock.
func TestInterpretPairs(t *testing.T) {
	grouped := exchange + `StartCoalescing
s = P2PCommunication(send, buffer A, peer 1 - rank, NCCL)
r = P2PCommunication(recv, buffer C, peer 1 - rank, NCCL)
g = EndCoalescing
Wait(g)
`
	got, err := run(t, grouped, 3)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float64{11, 12, 13, 14}, got[0]["C"].Data); diff != "" {
		t.Error(diff)
	}
	_, err = run(t, exchange+`s = P2PCommunication(send, buffer A, peer 1 - rank, NCCL) @7:2
r = P2PCommunication(recv, buffer C, peer 1 - rank, NCCL) @8:2
Wait(s)
Wait(r)
`, 3)
	want := "deadlock: nothing can run\n  rank 0 waits at spec.yaml:7:2: s = P2PCommunication(send, buffer A, peer 1 - rank, NCCL)"
	if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "rank 1 waits at") {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestInterpretFindsRanksThatDiffer(t *testing.T) {
	cases := []struct{ body, want string }{
		{`If rank == 0:
  h = Communication(Broadcast, mesh world axis x, root 0, in A, out C, NCCL) @9:3
  Wait(h)
`, "h = Communication(Broadcast, mesh world axis x, root 0, in A, out C, NCCL) never takes place: rank 1 does not reach it"},
		{`h = Communication(Broadcast, mesh world axis x, root rank, in A, out C, NCCL) @9:3
Wait(h)
`, "ranks 0 and 1 meet in different communications: h = Communication(Broadcast"},
		{`s = P2PCommunication(send, buffer A, peer rank, NCCL) @9:3
`, "spec.yaml:9:3, rank 0, s = P2PCommunication(send, buffer A, peer rank, NCCL): a rank cannot exchange with itself"},
		{`SetCurrentStream(worker rank + 1)
Delay(1) @9:3
`, "there is no worker 2 among 2"},
		{`C = Unary(sine, C)
`, `there is no function "sine"`},
	}
	for _, c := range cases {
		_, err := run(t, exchange+c.body, 1)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n got %v\nwant %s", c.body, err, c.want)
		}
	}
}

// TestInterpretSpoilsFreedBuffers checks that the interpreter finds a buffer that is freed before its last
// use: freeing overwrites it with NaN.
func TestInterpretSpoilsFreedBuffers(t *testing.T) {
	source := twoRanks + `tensor B: bf16 [DIDx(2), 4], mesh world, temp
tensor C: bf16 [DIDx(2), 4], mesh world, output

caller = GetCurrentStream
C = Allocate
B = Allocate
SetCurrentStream(worker 0)
Synchronize(caller)
B = Unary(neg, A)
C = Unary(neg, B)
SetCurrentStream(caller)
Deallocate(B)
Synchronize(worker 0)
`
	wrong := 0
	for seed := range uint64(400) {
		got, err := run(t, source, seed)
		if err != nil {
			t.Fatal(err)
		}
		if !cmp.Equal(got[0]["C"].Data, []float64{1, 2, 3, 4}) {
			wrong++
		}
	}
	if wrong == 0 {
		t.Error("no order shows that B is freed too early")
	}
}

func TestInterpretWantsInputs(t *testing.T) {
	p, err := text.Parse("p.hir", exchange)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(p, nil, 0); err == nil || !strings.Contains(err.Error(), "runs on 2 ranks") {
		t.Errorf("got %v", err)
	}
	if _, err := Run(p, make([]map[string]*Array, 2), 0); err == nil ||
		!strings.Contains(err.Error(), "rank 0 has no input A with 4 elements") {
		t.Errorf("got %v", err)
	}
}
