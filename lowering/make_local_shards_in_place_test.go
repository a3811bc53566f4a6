package lowering

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/lowertest"
)

// TestLocalShardsAreMadeInPlace checks gathers of computed shards (one or two) into outputs and temporaries, with other
// uses of the local shard, over every transport. It counts the copies that remain.
func TestLocalShardsAreMadeInPlace(t *testing.T) {
	t.Parallel()
	tensors := "A: [DIDx, 6, 4], U: [DIDx, 6, 4], V: [DIDx, 6, 4], C: [Stream(D), 6, 4]"
	for name, c := range map[string]struct {
		tensors, ops string
		copies       int // number of copies that remain
	}{
		"for the caller":   {"", "U = relu(A), C = set(U), V = relu(U)", 0},
		"for the program":  {", E: [D, 6, 4]", "U = relu(A), C = set(U), E = relu(C), V = relu(U)", 0},
		"in its pipeline":  {", E: [Stream(D), 6, 4]", "U = relu(A), C = set(U), E = relu(C), V = relu(U)", 0},
		"twice":            {", E: [Stream(D), 6, 4]", "U = relu(A), C = set(U), E = set(U), V = relu(U)", 1},
		"what is output":   {"", "U = relu(A), V = relu(U), C = set(V)", 0},
		"one after other":  {", E: [Stream(D), 6, 4]", "U = relu(A), V = relu(U), C = set(V), E = set(U)", 0},
		"an input as well": {", E: [Stream(D), 6, 4]", "U = relu(A), V = relu(U), C = set(V), E = set(A)", 1},
	} {
		for _, steps := range []string{"rotation", "ring"} {
			for _, transport := range []string{"nccl", "ipc-get", "ipc-put", "auto"} {
				for n, form := range []string{"buffers keep", "all.lead all, all.local last, buffers free", "all.lead all, buffers free"} {
					for i, d := range []int64{2, 3, 4} {
						if !inTurn(i, 3, n, len(name), len(transport)) {
							continue
						}
						t.Run(fmt.Sprint(name, "/", steps, "/", transport, "/", form, "/", d), func(t *testing.T) {
							p := lowertest.Pipeline(t, d, tensors+c.tensors, c.ops)
							choose(&p.Schedule, "pipeline p2p", form, fmt.Sprint("streams ", n), "all.steps "+steps)
							if transport == "auto" {
								choose(&p.Schedule, "transport auto")
							} else {
								choose(&p.Schedule, "all.via "+transport)
							}
							fit(p)
							printed, _, _ := strings.Cut(text.Print(keepsResult(t, p, 6)), "\nfallback:")
							if got := strings.Count(printed, " = Set("); got != c.copies {
								t.Errorf("%d copies, not %d\n%s", got, c.copies, printed)
							}
						})
					}
				}
			}
		}
	}
}
