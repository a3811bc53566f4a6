package schedules

import (
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// TestCandidatesOfManyRanks checks that auto tries point-to-point pipelines of many ranks only for a spec that asks for them.
func TestCandidatesOfManyRanks(t *testing.T) {
	for _, c := range []struct {
		axes []int64
		want bool
	}{{[]int64{mostExchanging}, true}, {[]int64{mostExchanging + 1}, false}, {[]int64{32, 8}, true}} {
		exchanges := func(c Candidate) bool { return strings.Contains(c.Name, "pipeline p2p") }
		for _, asked := range []schedule.Choice{
			{}, {Field: schedule.Pipeline, Value: schedule.P2P}, {Of: schedule.All, Field: schedule.Via, Value: schedule.IPCGet},
		} {
			mesh, ranks := &domain.Mesh{}, int64(1)
			for _, n := range c.axes {
				mesh.Axes, ranks = append(mesh.Axes, domain.MeshAxis{Extent: domain.Extent{Size: n}}), ranks*n
			}
			mesh.Ranks = make([]int, ranks)
			p := &hostir.Program{Meshes: []*domain.Mesh{mesh}}
			if asked.Field != "" {
				p.Choices.Put(asked)
			}
			if want := c.want || asked.Field != ""; slices.ContainsFunc(candidates(p), exchanges) != want {
				t.Errorf("with axes %v and %v, auto tries point-to-point pipelines: %v", c.axes, asked, !want)
			}
		}
	}
}

// TestBestCutsOnlyForAGain checks that Best prefers, of equally fast candidates, those that split nothing, and then
// those with less time on the GPUs if the host limits the calls, and those with the fewest choices.
func TestBestCutsOnlyForAGain(t *testing.T) {
	at := func(name string, whole bool, time float64) Ranked {
		return Ranked{Candidate{Name: name, Whole: whole}, &cost.Prediction{Total: time, GPUs: time}, nil}
	}
	onHost := func(name string, gpus float64) Ranked {
		return Ranked{Candidate: Candidate{Name: name, Whole: true}, Prediction: &cost.Prediction{Total: 100, Host: 100, GPUs: gpus}}
	}
	choices := func(r Ranked, n int) Ranked { r.Choices = n; return r }
	for _, c := range []struct {
		ranked []Ranked
		want   string
	}{
		{[]Ranked{at("cut", false, 100), at("whole", true, 100*alike+1)}, "cut"},
		{[]Ranked{at("cut", false, 100), at("whole", true, 100*alike-0.5)}, "whole"},
		{[]Ranked{at("whole", true, 100), at("cut", false, 101)}, "whole"},
		{[]Ranked{at("cut", false, 100), {Candidate: Candidate{Name: "whole", Whole: true}}}, "cut"},
		{[]Ranked{{Candidate: Candidate{Name: "cut"}}}, ""},
		{nil, ""},
		{[]Ranked{choices(at("three", false, 100), 3), choices(at("two", false, 100.5), 2), choices(at("one", false, 102), 1)}, "two"},
		{[]Ranked{choices(at("cut", false, 100), 1), choices(at("graph", true, 100.5), 2), choices(at("whole", true, 101), 1)}, "whole"},
		{[]Ranked{choices(at("cut", false, 100), 2), choices(at("whole", true, 100.5), 3), choices(at("plain", false, 101), 1)}, "whole"},
		{[]Ranked{choices(onHost("plain", 90), 0), choices(onHost("fast", 60), 3)}, "fast"},
		{[]Ranked{choices(onHost("fast", 60), 3), choices(at("plain", true, 100.5), 0)}, "fast"},
		{[]Ranked{choices(onHost("plain", 60.5), 0), choices(onHost("fast", 60), 3)}, "plain"},
		{[]Ranked{choices(onHost("fast", 60), 2), choices(onHost("next", 60.5), 1), choices(onHost("slow", 61), 0)}, "next"},
	} {
		if best, ok := Best(c.ranked); best.Name != c.want || ok != (c.want != "") {
			t.Errorf("the best of %v is %q, not %q", candidateNames(c.ranked), best.Name, c.want)
		}
	}
}

func candidateNames(ranked []Ranked) []string {
	var list []string
	for _, r := range ranked {
		list = append(list, r.Name)
	}
	return list
}
