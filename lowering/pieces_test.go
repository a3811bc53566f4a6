package lowering

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
)

// pieceForms are choices of a schedule with pieces that change the program.
var pieceForms = []struct {
	own, transfers, order, ownStep, signals, buffers string
	streams, pieces, chunks                          int
}{
	{"in-place", "ahead", "rotation", "last", "batched", "keep", 0, 2, 0},
	{"in-place", "inline", "rotation", "first", "single", "keep", 0, 3, 0},
	{"copied", "ahead", "reverse", "first", "batched", "free", 2, 2, 0},
	{"in-place", "ahead", "reverse", "last", "single", "keep", 3, 3, 0},
	{"copied", "inline", "rotation", "last", "batched", "free", 1, 2, 0},
	{"in-place", "ahead", "rotation", "last", "batched", "keep", 2, 2, 1},
	{"in-place", "inline", "reverse", "first", "single", "free", 2, 3, 1},
	{"copied", "ahead", "rotation", "first", "single", "keep", 0, 2, 1},
	{"in-place", "ahead", "reverse", "last", "batched", "free", 4, 3, 2},
	{"copied", "inline", "rotation", "last", "single", "keep", 1, 2, 2},
	{"in-place", "ahead", "rotation", "first", "batched", "keep", 2, 3, 12},
}

// withPieces visits the example specs of sums from rank to rank with every transport.
func withPieces(t *testing.T, d int64, visit func(t *testing.T, p *model.Pipeline)) {
	t.Helper()
	for _, s := range specTexts(t) {
		if s.name != "matmul_rs_p2p" && s.name != "matmul_ar_p2p" {
			continue
		}
		for transport := range transports {
			for n, form := range pieceForms {
				t.Run(fmt.Sprintf("D=%d/%s/%s/%v", d, s.name, transport, form), func(t *testing.T) {
					p := s.onMesh(t, "{x: D}", sizes(d, 3))
					variant(p, form.streams, forms[n%len(forms)][0], forms[n%len(forms)][1], "before")
					p.Schedule.Transport, p.Schedule.Own, p.Schedule.Transfers = transport, form.own, form.transfers
					p.Schedule.Order, p.Schedule.OwnStep, p.Schedule.Signals = form.order, form.ownStep, form.signals
					p.Schedule.Buffers, p.Schedule.Pieces = form.buffers, form.pieces
					p.Schedule.Chunks = common(form.chunks, int(d))
					visit(t, p)
				})
			}
		}
	}
}

// common is the largest number that divides two, and 0 where one of them is.
func common(a, b int) int {
	for n := min(a, b); n > 1; n-- {
		if a%n == 0 && b%n == 0 {
			return n
		}
	}
	return min(a, b, 1)
}

func TestPiecesKeepTheResult(t *testing.T) {
	for _, d := range []int64{1, 2, 3, 4} {
		withPieces(t, d, func(t *testing.T, p *model.Pipeline) {
			t.Helper()
			followPasses(t, p, lowertest.NewOracle(t, p, 3))
		})
	}
}

// TestPiecesNeedTheirWaits leaves out each Wait and each Synchronize in turn: some order then
// gives wrong data, or none.
func TestPiecesNeedTheirWaits(t *testing.T) {
	withPieces(t, 3, func(t *testing.T, p *model.Pipeline) {
		t.Helper()
		needsItsWaits(t, p, func(i int, line string) bool { return impliedWithPieces(p, i, line) })
	})
}

// impliedWithPieces reports whether a statement, number i of those that order others, only says
// what others make sure of.
func impliedWithPieces(p *model.Pipeline, i int, line string) bool {
	// No rank sums a piece before all have summed, and so read, the piece before: peers have read
	// what is sent, and what is lent first is free, when the same piece comes round again.
	implied := strings.HasPrefix(line, "Wait(send") || i == 0 && strings.HasPrefix(line, "Synchronize(caller)")
	// A worker all of whose work is waited for needs no join, nor a fork if it waits itself.
	return implied || p.Schedule.Streams > 0 && strings.HasPrefix(line, "Synchronize(")
}

// TestOnlyTheLastPieceIsWaitedFor holds what pieces are for: in the loop over pieces nothing
// waits for what is gathered, nor for what peers have read.
func TestOnlyTheLastPieceIsWaitedFor(t *testing.T) {
	for _, transport := range []string{"ipc-get", "ipc-put", "nccl"} {
		for _, s := range specTexts(t) {
			if s.name != "matmul_ar_pieces" {
				continue
			}
			p := s.onMesh(t, "{x: D}", sizes(4, 3))
			p.Schedule.Transport = transport
			program, err := Lower(p, Options{Verify: true})
			if err != nil {
				t.Fatal(err)
			}
			waits := map[bool][]string{}
			hostir.Walk(program.Body, func(s hostir.Stmt) bool {
				loop, ok := s.(*hostir.For)
				if !ok || loop.Var != "piece" {
					return true
				}
				hostir.Walk(loop.Body, func(s hostir.Stmt) bool {
					if wait, ok := s.(*hostir.Wait); ok {
						works := hostir.Any(loop.Body, isGEMM)
						waits[works] = append(waits[works], wait.Handle)
					}
					return true
				})
				return false
			})
			if len(waits[true]) != 1 || strings.HasSuffix(waits[true][0], "_2") {
				t.Errorf("%s: the work waits for %v, not for the parts of a sum alone\n%s", transport, waits[true], text.Print(program))
			}
			if len(waits[false]) == 0 {
				t.Errorf("%s: nothing is waited for after the work", transport)
			}
		}
	}
}

// TestPiecesThatCannotBe holds what is said where pieces mean nothing.
func TestPiecesThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		spec, want string
		set        func(*model.Schedule)
	}{
		{"ag_matmul_p2p", "has nothing to cut", func(*model.Schedule) {}},
		{"matmul_ar_p2p", "has nothing to cut", func(s *model.Schedule) { s.Pipeline = "ring" }},
		{"matmul_ar_p2p", "chunks: 4 are more than the 2 slices", func(s *model.Schedule) { s.Chunks = 4 }},
		{"matmul_rs_p2p", "has nothing to cut", func(s *model.Schedule) { s.Pipeline, s.Chunks = "ring", 4 }},
		{"matmul_rs_p2p", "cannot be cut into 5 equal pieces", func(s *model.Schedule) { s.Pieces = 5 }},
	} {
		for _, s := range specTexts(t) {
			if s.name != c.spec {
				continue
			}
			p := s.onMesh(t, "{x: D}", sizes(2, 3))
			p.Schedule.Pieces = 2
			c.set(&p.Schedule)
			_, err := Lower(p, Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), "HG100") != 1 {
				t.Errorf("%s: %v, not %q alone", c.spec, err, c.want)
			}
		}
	}
	// What does not exchange slices has none to cut.
	for _, s := range specTexts(t) {
		if s.name != "matmul_ar_p2p" {
			continue
		}
		p := s.onMesh(t, "{x: D}", sizes(2, 3))
		p.Schedule.Pipeline = "eager"
		want := lowerText(t, p)
		p.Schedule.Pieces = 2
		if got := lowerText(t, p); got != want {
			t.Errorf("pieces change an eager program:\n%s", got)
		}
	}
}
