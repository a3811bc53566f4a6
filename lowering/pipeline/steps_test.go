package pipeline_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
)

// stepOrders are choices of the order of steps, with the number of sub-chunks of a shard.
var stepOrders = []struct {
	choices    string
	subChunks  int    // number of sub-chunks of a shard
	pairs      bool   // the number of ranks must be a power of two
	localShard string // when the local shard's sub-chunks come: "first", "last", "both"
}{
	{"steps: rotation", 1, false, "first"},
	{"steps: rotation, local: last", 1, false, "last"},
	{"steps: rotation, split: 2", 2, false, "first"},
	{"steps: pairwise", 1, true, "first"},
	{"steps: pairwise, split: 2, local: last", 2, true, "last"},
	{"steps: ring", 1, false, "first"},
	{"steps: ring, split: 2", 2, false, "first"},
	{"steps: bracket, split: 2", 2, false, "both"},
	{"steps: bracket, split: 4", 4, false, "both"},
}

// TestStepsTakeEveryShardOnce is property 9: in each step, the ranks take different shards. Each rank takes every
// sub-chunk of every shard once, and the sub-chunks of its local shard in the steps that the schedule sets. The rows
// that the GEMM of a step writes identify its sub-chunk.
func TestStepsTakeEveryShardOnce(t *testing.T) {
	for _, o := range stepOrders {
		for d := 2; d <= 8; d++ {
			if o.pairs && d&(d-1) != 0 {
				continue
			}
			for _, via := range []string{"nccl", "ipc-get", "ipc-put"} {
				t.Run(fmt.Sprintf("%s/D=%d/%s", o.choices, d, via), func(t *testing.T) {
					steps := stepsOf(t, fmt.Sprintf(`hirgen: 1
name: steps
mesh: {x: %[1]d}
dtype: fp32
tensors: {A: [DIDx(%[1]d), %[2]d, 2], B: [2, 2], C: [Stream(%[1]d), %[2]d, 2]}
ops: ["C = matmul(A, B)"]
schedule: {pipeline: p2p, all: {%[3]s, via: %[4]s}}
`, d, o.subChunks, o.choices, via))
					checkSteps(t, steps, d, o.subChunks, o.localShard)
				})
			}
		}
	}
}

// stepsOf returns, for each rank, the first row that each of its GEMMs writes, in the order of issue.
func stepsOf(t *testing.T, spec string) [][]int {
	t.Helper()
	p, err := model.Load("spec.yaml", []byte(spec), nil)
	if err != nil {
		t.Fatal(err)
	}
	program, err := lowering.Host(p, lowering.Options{Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	h, err := lowertest.NewHappensBefore(nil, program)
	if err != nil {
		t.Fatal(err)
	}
	steps := make([][]int, p.Meshes[0].Size())
	for _, e := range h.Events {
		if _, is := e.Stmt.(*hostir.Matmul); !is || e.Call > 1 {
			continue
		}
		for _, a := range e.Accesses {
			if a.Writes {
				steps[e.Rank] = append(steps[e.Rank], int(slices.Min(a.Elements))/2) // rows have 2 elements
			}
		}
	}
	return steps
}

func checkSteps(t *testing.T, steps [][]int, d, subChunks int, localShard string) {
	t.Helper()
	for rank, rows := range steps {
		sorted := slices.Sorted(slices.Values(rows))
		if len(rows) != d*subChunks || len(slices.Compact(sorted)) != d*subChunks {
			t.Fatalf("rank %d takes the sub-chunks %v", rank, rows)
		}
		var local []int // the steps in which the rank takes its local shard
		for step, row := range rows {
			if row/subChunks == rank {
				local = append(local, step)
			}
		}
		if want := localSteps(d*subChunks, subChunks, localShard); !slices.Equal(local, want) {
			t.Errorf("rank %d takes its local shard in the steps %v, not %v", rank, local, want)
		}
	}
	for step := range d * subChunks {
		seen := map[int]bool{}
		for _, rows := range steps {
			seen[rows[step]/subChunks] = true
		}
		if len(seen) != d {
			t.Errorf("step %d takes %d shards on %d ranks", step, len(seen), d)
		}
	}
}

// localSteps returns the steps, out of the given number, in which a rank has to take the sub-chunks of its local shard.
func localSteps(steps, subChunks int, when string) []int {
	list := make([]int, subChunks)
	for i := range list {
		switch {
		case when == "last" || when == "both" && i >= subChunks/2:
			list[i] = steps - subChunks + i
		default:
			list[i] = i
		}
	}
	return list
}
