package schedules_test

import (
	"strings"
	"testing"

	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/schedules"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schedule"
)

// candidate returns a candidate that sets fields. choices has the path of each field, followed by its value.
func candidate(t *testing.T, name string, choices ...string) schedules.Candidate {
	t.Helper()
	return schedules.Candidate{Name: name, Whole: name == "eager", Set: func(p *hostir.Program) {
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

// rankExample ranks three schedules of an example, and one that the example cannot have.
func rankExample(t *testing.T, name string, params map[string]int64) []schedules.Ranked {
	t.Helper()
	p, err := model.Load("spec.yaml", []byte(autoSpec(t, name, "{streams: 4}")), params)
	if err != nil {
		t.Fatal(err)
	}
	m, err := cost.LoadMachine("h200")
	if err != nil {
		t.Fatal(err)
	}
	return schedules.Rank(func() (*hostir.Program, error) { return lowering.Build(p) }, []schedules.Candidate{
		candidate(t, "refused", "pipeline", "p2p", "all.split", "7"),
		candidate(t, "eager", "preset", "eager", "streams", "0"),
		candidate(t, "nccl", "pipeline", "p2p"),
		candidate(t, "get", "pipeline", "p2p", "all.via", "ipc-get", "all.signals", "batched", "streams", "0"),
	}, m, lowering.LowerChosen())
}

// TestRankSchedules checks the best schedules at two sizes. Long GEMMs hide transfers by copy engines. If all work is
// short, the schedule that splits nothing is the fastest. A schedule that a pipeline cannot have is last, with the
// error.
func TestRankSchedules(t *testing.T) {
	long := rankExample(t, "ag_matmul_p2p", map[string]int64{"D": 4, "M": 8192, "N": 8192, "K": 8192})
	if best, ok := schedules.Best(long); !ok || best.Name != "get" || long[0].Name != "get" {
		t.Errorf("for long products the best is %s of %v", best.Name, names(long))
	}
	last := long[len(long)-1]
	if last.Name != "refused" || last.Refused == nil || last.Prediction != nil {
		t.Errorf("the last of %v is refused: %v", names(long), last.Refused)
	}
	for i, r := range long[1:] {
		if before := long[i]; r.Prediction != nil && before.Prediction.Total > r.Prediction.Total {
			t.Errorf("%s with %v stands behind %s with %v", r.Name, r.Prediction.Total, before.Name, before.Prediction.Total)
		}
	}
	short := rankExample(t, "ag_matmul_p2p", map[string]int64{"D": 4, "M": 8, "N": 64, "K": 512})
	if best, ok := schedules.Best(short); !ok || best.Name != "eager" {
		t.Errorf("for short products the best is %s of %v", best.Name, names(short))
	}
}

func names(ranked []schedules.Ranked) []string {
	var list []string
	for _, r := range ranked {
		list = append(list, r.Name)
	}
	return list
}
