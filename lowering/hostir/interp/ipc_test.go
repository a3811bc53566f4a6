package interp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/hostir/verify"
)

// gathering is an allgather of A by transfers over CUDA IPC, on two ranks, through a
// buffer of the program: rank r's C holds A of all ranks, negated.
const gathering = `program p from "spec.yaml"
mesh world: x = 2, ranks 0..1
streams 2
tensor A: bf16 [DIDx(2), 4], mesh world, input
tensor C: bf16 [2, 4], mesh world, output
tensor A_all: bf16 [2, 4], mesh world, temp
tensor A_local: bf16 [4], mesh world, view
tensor A_s: bf16 [4], mesh world, view
tensor C_s: bf16 [4], mesh world, view

caller = GetCurrentStream
A_all = Allocate
C = Allocate
A_local = Select(A, axis 0, index 0)
For s in 2:
  SetCurrentStream(worker s % 2)
  Synchronize(caller)
For s in 2:
  SetCurrentStream(worker s % 2)
  A_s = Select(A_all, axis 0, index (rank + s) % 2)
  If s == 0:
    A_s = Set(A_local)
  Else:
    ShareMemHandles(send, recv)
%s  C_s = Select(C, axis 0, index (rank + s) %% 2)
  C_s = Unary(neg, A_s)
  SetCurrentStream(caller)
  Synchronize(worker s %% 2)
`

const (
	getStep = `    send = P2PCommunication(send, buffer A_local, peer 1 - rank, IPC-get)
    recv = P2PCommunication(recv, buffer A_s, peer 1 - rank, IPC-get)
    Wait(send)
    Wait(recv)
`
	putStep = `    recv = P2PCommunication(recv, buffer A_s, peer 1 - rank, IPC-put)
    send = P2PCommunication(send, buffer A_local, peer 1 - rank, IPC-put)
    Wait(recv)
    Wait(send)
`
)

func gather(step string) string {
	return strings.Replace(strings.ReplaceAll(gathering, "%%", "%"), "%s", step, 1)
}

// wrong counts the seeds for which the result is not that of the allgather.
func wrong(t *testing.T, source string, seeds uint64) int {
	t.Helper()
	n := 0
	for seed := range seeds {
		got, err := run(t, source, seed)
		if err != nil {
			t.Fatal(err)
		}
		want := []float64{-1, -2, -3, -4, -11, -12, -13, -14}
		if !cmp.Equal(got[0]["C"].Data, want) || !cmp.Equal(got[1]["C"].Data, want) {
			n++
		}
	}
	return n
}

func TestInterpretCopiesBetweenSharedMemories(t *testing.T) {
	for _, step := range []string{getStep, putStep} {
		p, err := text.Parse("p.hir", gather(step))
		if err != nil {
			t.Fatal(err)
		}
		if err := verify.Program(p); err != nil {
			t.Fatal(err)
		}
		if n := wrong(t, gather(step), 300); n > 0 {
			t.Errorf("%d of 300 orders are wrong with\n%s", n, step)
		}
	}
}

// TestEveryWaitForASharedMemoryIsNeeded drops one Wait or Synchronize at a time. Some order must then compute a
// wrong result, because a copy is no rendezvous.
func TestEveryWaitForASharedMemoryIsNeeded(t *testing.T) {
	for _, step := range []string{getStep, putStep} {
		for _, line := range []string{"    Wait(send)\n", "    Wait(recv)\n", "  Synchronize(caller)\n", "  Synchronize(worker s % 2)\n"} {
			if wrong(t, strings.Replace(gather(step), line, "", 1), 300) == 0 {
				t.Errorf("without %q no order is wrong:\n%s", strings.TrimSpace(line), step)
			}
		}
	}
}

func TestInterpretFindsTransfersWithoutCounterpart(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"If s == 0:", "If s == 0 + rank:", "send = P2PCommunication(send, buffer A_local, peer 1 - rank, IPC-get) of rank 0 has no " +
			"counterpart: rank 1 never copies in that iteration"},
		{"recv, buffer A_s", "recv, buffer A_all", "ranks 0 and 1 exchange buffers that differ: send = P2PCommunication(send, buffer A_local"},
		{"ShareMemHandles(send, recv)", "ShareMemHandles(recv)", "no ShareMemHandles pairs it with its counterpart"},
	} {
		_, err := run(t, strings.Replace(gather(getStep), c.from, c.to, 1), 1)
		if err == nil || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
}
