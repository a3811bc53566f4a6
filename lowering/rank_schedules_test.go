package lowering

import (
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering/cost"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schedule"
)

// candidate makes the choices of a line of the measurements.
func candidate(t *testing.T, name string, choices ...string) Candidate {
	t.Helper()
	return Candidate{Name: name, Whole: name == "eager", Set: func(p *hostir.Program) {
		for i := 0; i < len(choices); i += 2 {
			of, field, both := strings.Cut(choices[i], ".")
			if !both {
				of, field = "", of
			}
			p.Choices.Put(schedule.Choice{Of: of, Field: field, Value: choices[i+1]})
		}
		p.Streams = int(schedule.Number(p.Choices.Get(schedule.Streams)))
	}}
}

// rankExample ranks three schedules of an example, and one that it cannot have.
func rankExample(t *testing.T, name string, params map[string]int64) []Ranked {
	t.Helper()
	p, err := model.Load("spec.yaml", []byte(autoSpec(t, name, "{streams: 4}")), params)
	if err != nil {
		t.Fatal(err)
	}
	m, err := cost.LoadMachine("h200")
	if err != nil {
		t.Fatal(err)
	}
	ranked, err := RankSchedules(p, []Candidate{
		candidate(t, "refused", "pipeline", "p2p", "all.split", "7"),
		candidate(t, "eager", "preset", "eager", "streams", "0"),
		candidate(t, "nccl", "pipeline", "p2p"),
		candidate(t, "get", "pipeline", "p2p", "all.via", "ipc-get", "all.signals", "batched", "streams", "0"),
	}, m)
	if err != nil {
		t.Fatal(err)
	}
	return ranked
}

// TestRankSchedules: where products are long, transfers by copy engines hide behind them; where all is short, what
// is not cut is as good as anything. A schedule that a pipeline cannot have is last, with the reason.
func TestRankSchedules(t *testing.T) {
	long := rankExample(t, "ag_matmul_p2p", map[string]int64{"D": 4, "M": 8192, "N": 8192, "K": 8192})
	if best, ok := Best(long); !ok || best.Name != "get" || long[0].Name != "get" {
		t.Errorf("for long products the best is %s of %v", best.Name, candidateNames(long))
	}
	last := long[len(long)-1]
	if last.Name != "refused" || last.Refused == nil || last.Prediction != nil {
		t.Errorf("the last of %v is refused: %v", candidateNames(long), last.Refused)
	}
	for i, r := range long[1:] {
		if before := long[i]; r.Prediction != nil && before.Prediction.Total > r.Prediction.Total {
			t.Errorf("%s with %v stands behind %s with %v", r.Name, r.Prediction.Total, before.Name, before.Prediction.Total)
		}
	}
	short := rankExample(t, "ag_matmul_p2p", map[string]int64{"D": 4, "M": 8, "N": 64, "K": 512})
	if best, ok := Best(short); !ok || best.Name != "eager" {
		t.Errorf("for short products the best is %s of %v", best.Name, candidateNames(short))
	}
}

// TestBestCutsOnlyForAGain: an operation stays whole where cutting it gains less than the model may be wrong by, and
// of schedules that are as fast the plainest one wins.
func TestBestCutsOnlyForAGain(t *testing.T) {
	at := func(name string, whole bool, time float64) Ranked {
		return Ranked{Candidate{Name: name, Whole: whole}, &cost.Prediction{Total: time}, nil}
	}
	choices := func(r Ranked, n int) Ranked { r.Choices = n; return r }
	for _, c := range []struct {
		ranked []Ranked
		want   string
	}{
		{[]Ranked{at("cut", false, 100), at("whole", true, 100*(1+cost.GainError)+1)}, "cut"},
		{[]Ranked{at("cut", false, 100), at("whole", true, 100*(1+cost.GainError)-1)}, "whole"},
		{[]Ranked{at("whole", true, 100), at("cut", false, 101)}, "whole"},
		{[]Ranked{at("cut", false, 100), {Candidate: Candidate{Name: "whole", Whole: true}}}, "cut"},
		{[]Ranked{{Candidate: Candidate{Name: "cut"}}}, ""},
		{nil, ""},
		{[]Ranked{choices(at("three", false, 100), 3), choices(at("two", false, 101), 2), choices(at("one", false, 103), 1)}, "two"},
		{[]Ranked{choices(at("cut", false, 100), 1), choices(at("graph", true, 101), 2), choices(at("whole", true, 102), 1)}, "whole"},
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
