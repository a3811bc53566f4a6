package lowering

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schedule"
)

// subChunkVariants lists schedule fields that change a program with interchanged sub-chunks. With gemms 0, block is not
// set.
var subChunkVariants = []struct {
	choices          string
	streams          int
	subChunks, gemms int64
}{
	{"all.lead all, all.local last, all.signals batched", 0, 2, 0},
	{"", 0, 3, 0},
	{"local_shard copied, all.lead all, all.steps reverse, all.signals batched, buffers free", 2, 2, 0},
	{"all.lead all, all.steps reverse, all.local last", 3, 3, 0},
	{"local_shard copied, all.local last, all.signals batched, buffers free", 1, 2, 0},
	{"all.lead all, all.local last, all.signals batched", 2, 2, 1},
	{"all.steps reverse, buffers free", 2, 3, 1},
	{"local_shard copied, all.lead all", 0, 2, 1},
	{"all.lead all, all.steps reverse, all.local last, all.signals batched, buffers free", 4, 3, 2},
	{"local_shard copied, all.local last", 1, 2, 2},
	{"all.lead all, all.signals batched", 2, 3, 12},
}

// withSubChunks visits the example specs of point-to-point sums with every transport and half of subChunkVariants, or
// all in a full run.
func withSubChunks(t *testing.T, d int64, visit func(t *testing.T, p *model.Pipeline)) {
	t.Helper()
	for i, s := range exchangeSpecs(t)[3:] { // matmul_ar_p2p, matmul_rs_p2p
		for _, transport := range transports {
			for n, form := range subChunkVariants {
				if !inTurn(i, 2, n, len(transport), int(d)) {
					continue
				}
				t.Run(fmt.Sprintf("D=%d/%s/%s/%v", d, s.name, transport, form), func(t *testing.T) {
					p := s.onMesh(t, "{x: D}", sizes(d, 3))
					variant(p, form.streams, forms[n%len(forms)][0], forms[n%len(forms)][1], "before")
					choose(&p.Schedule, form.choices, "all.via "+transport, fmt.Sprintf("all.split %d, all.interchange true", form.subChunks))
					if n := common(form.gemms, d); n > 0 {
						choose(&p.Schedule, fmt.Sprintf("all.block %d", d/n))
					}
					fit(p)
					visit(t, p)
				})
			}
		}
	}
}

// common returns the greatest common divisor of two numbers; 0 if one of them is 0.
func common(a, b int64) int64 {
	for n := min(a, b); n > 1; n-- {
		if a%n == 0 && b%n == 0 {
			return n
		}
	}
	return min(a, b, 1)
}

func TestSubChunksKeepTheResult(t *testing.T) {
	t.Parallel()
	for _, d := range []int64{1, 2, 3, 4} {
		withSubChunks(t, d, func(t *testing.T, p *model.Pipeline) {
			t.Helper()
			followPasses(t, p, lowertest.NewOracle(t, p, 3))
		})
	}
}

// TestSubChunksNeedTheirWaits removes each Wait and each Synchronize that no other statement implies, one at a time.
// Without the removed statement, some order of execution has to fail.
func TestSubChunksNeedTheirWaits(t *testing.T) {
	withSubChunks(t, 3, func(t *testing.T, p *model.Pipeline) {
		t.Helper()
		needsItsWaits(t, p, func(i int, line string) bool { return impliedWithSubChunks(p, i, line) })
	})
}

// impliedWithSubChunks reports whether other statements imply the i-th of the statements that order streams, from 0.
// line is its text.
func impliedWithSubChunks(p *model.Pipeline, i int, line string) bool {
	// No rank sums a sub-chunk before all ranks have summed, and so read, the previous sub-chunk. So when the same
	// sub-chunk comes again, peers have read the sent buffers, and the buffers of the first ready flags are free.
	implied := strings.HasPrefix(line, "Wait(send") || i == 0 && strings.HasPrefix(line, "Synchronize(caller)")
	// A compute stream needs no join if other statements wait for all its work, and no fork if its own work waits.
	return implied || p.Schedule.Get(schedule.Streams) != "0" && strings.HasPrefix(line, "Synchronize(")
}

// TestOnlyTheLastSubChunkIsWaitedFor checks that the loop with the GEMMs waits only for the parts of sums: neither for
// gathered shards nor for reads by peers.
func TestOnlyTheLastSubChunkIsWaitedFor(t *testing.T) {
	for _, transport := range []string{"ipc-get", "ipc-put", "nccl"} {
		for _, s := range specTexts(t) {
			if s.name != "matmul_ar_sub_chunks" {
				continue
			}
			p := s.onMesh(t, "{x: D}", sizes(4, 3))
			choose(&p.Schedule, "all.via "+transport)
			fit(p)
			program, err := Host(p, Options{Verify: true})
			if err != nil {
				t.Fatal(err)
			}
			waits := map[bool][]string{}
			for loop := range hostir.Each[*hostir.For](program.Body) {
				if loop.Var != "c" {
					continue
				}
				for wait := range hostir.Each[*hostir.Wait](loop.Body) {
					works := hostir.Any(loop.Body, hostir.IsGEMM)
					waits[works] = append(waits[works], wait.Handle)
				}
			}
			if len(waits[true]) != 1 || strings.HasSuffix(waits[true][0], "_2") {
				t.Errorf("%s: the work waits for %v, not for the parts of a sum alone\n%s", transport, waits[true], text.Print(program))
			}
			if len(waits[false]) == 0 {
				t.Errorf("%s: nothing is waited for after the work", transport)
			}
		}
	}
}
