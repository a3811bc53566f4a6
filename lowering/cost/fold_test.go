package cost_test

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/hirgen/hirgen/internal/soak"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/cost"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model"
)

// onNodes is a machine with so many GPUs on a node; 0: all are on one.
func onNodes(m *cost.Machine, ranks int) *cost.Machine {
	other := *m
	if ranks > 0 {
		other.Nodes = &cost.Nodes{Ranks: ranks, Latency: 5, Rate: cost.Curve{{Bytes: 1, Rate: 50}}}
	}
	return &other
}

// TestFolding: with one rank of each class all times are as with all ranks, for every example spec at 8 ranks and for specs of
// the soak test, on one node and on several.
func TestFolding(t *testing.T) {
	specs, err := os.ReadDir("../../testdata/specs")
	if err != nil {
		t.Fatal(err)
	}
	folded := 0
	for _, spec := range specs {
		p, err := lowerFile("../../testdata/specs/"+spec.Name()+"/spec.yaml", map[string]int64{"D": 8}, nil)
		if err != nil {
			continue // its ranks have another name
		}
		for _, ranks := range []int{0, 4, 3} {
			folded += foldsRight(t, spec.Name(), p, onNodes(h200(t), ranks))
		}
	}
	if folded < 60 {
		t.Errorf("%d predictions had ranks that do the same", folded)
	}
	for number := range uint64(400) {
		spec := soak.MakeUp(11, number)
		p, err := model.Load("spec.yaml", []byte(spec.Text()), nil)
		if err != nil {
			continue
		}
		if program, err := lowering.Lower(p, lowering.Options{}); err == nil {
			foldsRight(t, spec.Text(), program, onNodes(slowed(h200(t), rand.New(rand.NewPCG(number, 3))), int(number%4)))
		}
	}
}

// foldsRight compares a folded prediction with a whole one. It is 1 where some rank stood for others.
func foldsRight(t *testing.T, name string, p *hostir.Program, m *cost.Machine) int {
	t.Helper()
	whole, err := cost.Predict(p, m)
	fold, foldErr := cost.Fold(p, m)
	if err != nil || foldErr != nil {
		if (err == nil) != (foldErr == nil) {
			t.Errorf("%s: %v whole, %v folded", name, err, foldErr)
		}
		return 0
	}
	equal := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(a, b, 1) }
	if !equal(whole.Total, fold.Total) || !equal(whole.Exposed, fold.Exposed) || !equal(whole.Host, fold.Host) {
		t.Errorf("%s: %v us a call, %v exposed, by %d classes; %v and %v by all ranks", name, fold.Total, fold.Exposed, len(fold.Classes), whole.Total, whole.Exposed)
		return 0
	}
	times := map[int][]float64{}
	for _, c := range whole.Calls {
		times[c.Rank] = append(times[c.Rank], c.End)
	}
	of := map[int][]float64{}
	for _, c := range fold.Calls {
		of[c.Rank] = append(of[c.Rank], c.End)
	}
	stood := 0
	for _, class := range fold.Classes {
		for _, rank := range class.Ranks {
			if !slices.EqualFunc(times[rank], of[class.Rank], equal) {
				t.Errorf("%s: rank %d does not do what rank %d does", name, rank, class.Rank)
				return 0
			}
		}
		stood = max(stood, min(1, len(class.Ranks)-1))
	}
	return stood
}
