package lowertest

import (
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering/hostir/text"
)

// exchange is a program in which two ranks gather over CUDA IPC. The test replaces %transfers.
const exchange = `program p from "spec.yaml"
mesh world: x = 2, ranks 0..1
streams 1
tensor A: bf16 [DIDx(2), 4], mesh world, input
tensor C: bf16 [2, 4], mesh world, output
tensor A_all: bf16 [4], mesh world, temp
tensor A_local: bf16 [4], mesh world, view
tensor C_s: bf16 [4], mesh world, view
tensor C_local: bf16 [4], mesh world, view

caller = GetCurrentStream
A_all = Allocate
C = Allocate
A_local = Select(A, axis 0, index 0)
ShareMemHandles(send, recv)
%transfers
Wait(send)
Wait(recv)
C_s = Select(C, axis 0, index 0)
C_s = Set(A_all)
C_local = Select(C, axis 0, index 1)
C_local = Set(A_local)
`

const (
	send = "send = P2PCommunication(send, buffer A_local, peer 1 - rank, IPC-get)\n"
	recv = "recv = P2PCommunication(recv, buffer A_all, peer 1 - rank, IPC-get)"
)

// TestHappensBefore checks that Race finds a missing wait and work that the caller does not wait for, and that OnOneQueue
// finds a deadlock. Both accept the correct program.
func TestHappensBefore(t *testing.T) {
	right := strings.Replace(exchange, "%transfers", send+recv, 1)
	for _, c := range []struct{ name, program, race, queue string }{
		{"right", right, "", ""},
		{"no wait for what is copied", strings.Replace(right, "Wait(recv)\n", "", 1), "touch the same element in any order", ""},
		{"no wait for the peer", strings.Replace(right, "Wait(send)\n", "", 1), "touch the same element in any order", ""},
		{"no join", right + "SetCurrentStream(worker 0)\nDelay(3)\nSetCurrentStream(caller)\n", "the caller does not follow Delay(3)", ""},
		{"copies before what sets the ready flag", strings.Replace(exchange, "%transfers", recv+"\n"+strings.TrimSpace(send), 1), "",
			"on one queue a rank"},
	} {
		p, err := text.Parse("p.hir", c.program)
		if err != nil {
			t.Fatal(err)
		}
		h, err := NewHappensBefore(nil, p)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		says(t, c.name, h.Race(), c.race)
		says(t, c.name, h.OnOneQueue(), c.queue)
	}
}

func says(t *testing.T, name string, err error, want string) {
	t.Helper()
	if err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s: %v, not %q", name, err, want)
	}
}
