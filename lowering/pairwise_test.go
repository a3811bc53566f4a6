package lowering

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/model"
)

// pairwise visits the example specs of point-to-point pipelines in which d ranks exchange in
// pairs, as the world and as rows and columns of a larger one.
func pairwise(t *testing.T, d int64, visit func(t *testing.T, p *model.Pipeline)) {
	t.Helper()
	for _, s := range specTexts(t) {
		if !strings.HasSuffix(s.name, "_p2p") {
			continue
		}
		for _, mesh := range []string{"{x: D}", "{y: 2, x: D}", "{x: D, y: 2}"} {
			for transport := range transports {
				for n, form := range exchangeForms {
					if form.pipeline != "p2p" {
						continue
					}
					t.Run(fmt.Sprintf("D=%d/%s/%s/%s/%d", d, s.name, mesh, transport, n), func(t *testing.T) {
						p := s.onMesh(t, mesh, sizes(d, 1))
						p.Schedule.Pipeline, p.Schedule.Transport, p.Schedule.Order = form.pipeline, transport, "pairwise"
						p.Schedule.Own, p.Schedule.Transfers, p.Schedule.OwnStep = form.own, form.transfers, form.ownStep
						p.Schedule.Chunks, p.Schedule.Streams = int(form.chunks(d)), n%4
						visit(t, p)
					})
				}
			}
		}
	}
}

func TestPairsKeepTheResult(t *testing.T) {
	for _, d := range []int64{1, 2, 4} {
		pairwise(t, d, func(t *testing.T, p *model.Pipeline) {
			t.Helper()
			keepsResult(t, p, 3)
		})
	}
}

// TestPairsThatCannotBe holds what is said where ranks make no pairs.
func TestPairsThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		ranks          int64
		pipeline, want string
	}{{3, "p2p", "needs a power of two of ranks, and mesh axis x has 3"}, {4, "ring", "does not go with pipeline: ring"}} {
		for _, s := range specTexts(t) {
			if s.name != "matmul_rs_p2p" {
				continue
			}
			p := s.onMesh(t, "{x: D}", sizes(c.ranks, 1))
			p.Schedule.Pipeline, p.Schedule.Order = c.pipeline, "pairwise"
			if _, err := Lower(p, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%d ranks, %s: %v, not %q", c.ranks, c.pipeline, err, c.want)
			}
		}
	}
}
