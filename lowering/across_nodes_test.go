package lowering

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/lowertest"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schedule"
)

// acrossNodes lowers a pipeline and returns its fallback variant, which uses the pipeline's transport within nodes and
// NCCL between nodes. If the ranks exchange nothing, the program has no fallback variant, and acrossNodes returns the
// program itself.
func acrossNodes(t *testing.T, p *model.Pipeline) *hostir.Program {
	t.Helper()
	program, err := Build(p)
	if err != nil {
		t.Fatal(err)
	}
	program.Choices.Set("", schedule.Transport, schedule.Auto)
	if err := Run(program, Passes, Options{Verify: true}); err != nil {
		t.Fatal(err)
	}
	if program.Fallback == nil {
		return program // the ranks exchange nothing
	}
	return program.Fallback
}

// keepsResultAcrossNodes compares the outputs of a pipeline in some orders of execution on all lowertest.Partitions of
// its ranks into nodes. It skips pipelines with via: nccl, which have no fallback variant.
func keepsResultAcrossNodes(t *testing.T, p *model.Pipeline, orders uint64) {
	t.Helper()
	if p.Schedule.Of("", schedule.Via) == schedule.NCCL {
		return
	}
	program, o := acrossNodes(t, p), lowertest.NewOracle(t, p, 3)
	for _, nodes := range lowertest.Partitions(len(o.Inputs)) {
		check := o.OrdersOn(nodes, program)
		for seed := range orders {
			if err := check(seed); err != nil {
				t.Fatalf("nodes %v: %v\n%s", nodes, err, text.Print(program))
			}
		}
	}
}

func TestAcrossNodesKeepsTheResult(t *testing.T) {
	t.Parallel()
	for _, d := range []int64{1, 4} {
		t.Run(fmt.Sprintf("D=%d", d), func(t *testing.T) {
			pointToPointVariants(t, d, func(t *testing.T, p *model.Pipeline) {
				t.Helper()
				keepsResultAcrossNodes(t, p, atMost(2, 4))
			})
		})
	}
	t.Run("teams", func(t *testing.T) {
		onTeams(t, func(t *testing.T, p *model.Pipeline) {
			t.Helper()
			choose(&p.Schedule, "all.signals batched, all.copy fused")
			fit(p)
			keepsResultAcrossNodes(t, p, 1)
		})
	})
	t.Run("sub-chunks", func(t *testing.T) {
		withSubChunks(t, 4, func(t *testing.T, p *model.Pipeline) {
			t.Helper()
			keepsResultAcrossNodes(t, p, atMost(1, 4))
		})
	})
}

// TestAcrossNodesNeedsItsWaits removes each Wait, one at a time. Without the Wait, some order of execution has to fail
// for some partition of the ranks into nodes. The test skips Waits that other statements imply, rings, and via: nccl.
func TestAcrossNodesNeedsItsWaits(t *testing.T) {
	t.Parallel()
	pointToPointVariants(t, 4, func(t *testing.T, p *model.Pipeline) {
		t.Helper()
		if p.Schedule.Of("", schedule.Via) == schedule.NCCL || p.Schedule.Of("", schedule.Steps) == schedule.Ring {
			return
		}
		program, o := acrossNodes(t, p), lowertest.NewOracle(t, p, 5)
		for i := range orders(program) {
			mutant, line := without(t, program, i)
			// If a rank has gathered its peers' sums, the peers have read its partial sums.
			implied := p.Name == "matmul_ar_p2p" && strings.HasPrefix(line, "Wait(send")
			if implied || !strings.HasPrefix(line, "Wait(") {
				continue
			}
			wrong := slices.ContainsFunc(lowertest.Partitions(4), func(nodes []int) bool {
				check := o.OrdersOn(nodes, mutant)
				for seed := range uint64(60) {
					if check(seed) != nil {
						return true
					}
				}
				return false
			})
			if !wrong {
				t.Errorf("without %s nothing goes wrong\n%s", line, text.Print(mutant))
			}
		}
	})
}
