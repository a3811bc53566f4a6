package races_test

import (
	"testing"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/text"
	"github.com/hirgen/hirgen/internal/tools/provetest"
	"github.com/hirgen/hirgen/prove/races"
	"github.com/hirgen/hirgen/prove/unroll"
)

// TestEachWaitIsNeeded removes each StreamWait and FlagWait of some programs. Without any one of them there has to be a race.
func TestEachWaitIsNeeded(t *testing.T) {
	for _, name := range []string{"ag_matmul", "ag_matmul_p2p", "matmul_rs_p2p", "matmul_rs_peer_read", "moe_a2a"} {
		programs, err := provetest.Lower(provetest.Spec(name), nil)
		if err != nil {
			t.Fatal(err)
		}
		printed := text.Print(programs[0])
		for i := range waits(programs[0]) {
			mutant, err := text.Parse("mutant", printed)
			if err != nil {
				t.Fatal(err)
			}
			removed := drop(mutant, i)
			u, err := unroll.Unroll(mutant, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(races.Find(u, 2)) == 0 {
				t.Errorf("%s: no race without %s", name, removed)
			}
		}
	}
}

func isWait(s calls.Stmt) bool {
	switch s.(type) {
	case *calls.StreamWait, *calls.FlagWait:
		return true
	}
	return false
}

func waits(p *calls.Program) (n int) {
	calls.Walk(p.Body, func(s calls.Stmt) bool {
		if isWait(s) {
			n++
		}
		return true
	})
	return n
}

// drop removes wait number i, from 0, from a program, and returns its text.
func drop(p *calls.Program, i int) (removed string) {
	p.Body = calls.Edit(p.Body, func(s calls.Stmt) []calls.Stmt {
		if isWait(s) {
			if i--; i == -1 {
				removed = text.Statement(s)
				return nil
			}
		}
		return []calls.Stmt{s}
	})
	return removed
}
