package lowering

import (
	"fmt"
	"testing"

	"github.com/hirgen/hirgen/model"
)

// pairwise visits the example specs of point-to-point pipelines with steps: pairwise. The d ranks are the world, or the
// rows or columns of a larger world. Without full, it visits a selection of the combinations.
func pairwise(t *testing.T, d int64, visit func(t *testing.T, p *model.Pipeline)) {
	t.Helper()
	for i, s := range exchangeSpecs(t) {
		for _, mesh := range []string{"{x: D}", "{y: 2, x: D}", "{x: D, y: 2}"} {
			for _, transport := range transports {
				for n, form := range exchangeForms {
					if form.sums != "" || form.steps == "ring" || !inTurn(i, form.specs(), n, len(transport), len(mesh), int(d)) {
						continue
					}
					t.Run(fmt.Sprintf("D=%d/%s/%s/%s/%d", d, s.name, mesh, transport, n), func(t *testing.T) {
						p := s.onMesh(t, mesh, sizes(d, 1))
						choose(&p.Schedule, form.choices(d), "all.steps pairwise, all.via "+transport, fmt.Sprint("streams ", n%4))
						fit(p)
						visit(t, p)
					})
				}
			}
		}
	}
}

func TestPairsKeepTheResult(t *testing.T) {
	t.Parallel()
	for _, d := range []int64{1, 2, 4} {
		pairwise(t, d, func(t *testing.T, p *model.Pipeline) {
			t.Helper()
			keepsResult(t, p, 3)
		})
	}
}
