package cost_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

// problemOf names the computation of a row's program and the source of the measurement, without the schedule.
func problemOf(r *measured) string {
	operation := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(r.Spec, "_p2p"), "_slices"), "_tp")
	return fmt.Sprint(r.Source, " ", operation, " ", r.Ranks, " ranks, M=", r.Params["M"], " N=", r.Params["N"], " K=", r.Params["K"])
}

// timed is a row with its predicted time.
type timed struct {
	row       *measured
	predicted float64
}

// predictedProblems returns the measured programs with their predictions, by problemOf.
func predictedProblems(t *testing.T) map[string][]timed {
	t.Helper()
	m := h200(t)
	problems := map[string][]timed{}
	for _, r := range loadMeasured(t, "measured.json") {
		if r.Spec == "" {
			continue
		}
		got, err := predicted(r, m)
		if err != nil {
			t.Fatal(err)
		}
		problems[problemOf(r)] = append(problems[problemOf(r)], timed{r, got})
	}
	return problems
}

// TestChoice lets the model choose among the measured schedules of a problem, and reports how much slower its choice is than the
// fastest one. The limits are its current quality.
func TestChoice(t *testing.T) {
	problems := predictedProblems(t)
	var regrets, spreads []float64
	for _, name := range slices.Sorted(maps.Keys(problems)) {
		rows := problems[name]
		if len(rows) < 2 {
			continue
		}
		byMeasured := func(a, b timed) int { return int(math.Copysign(1, a.row.Time-b.row.Time)) }
		byPredicted := func(a, b timed) int { return int(math.Copysign(1, a.predicted-b.predicted)) }
		best, worst, chosen := slices.MinFunc(rows, byMeasured), slices.MaxFunc(rows, byMeasured), slices.MinFunc(rows, byPredicted)
		regrets, spreads = append(regrets, chosen.row.Time/best.row.Time), append(spreads, worst.row.Time/best.row.Time)
		if testing.Verbose() {
			t.Logf("%.3f of %.3f  %s: chosen %v", chosen.row.Time/best.row.Time, worst.row.Time/best.row.Time, name, chosen.row.Schedule)
		}
	}
	t.Logf("%d problems: chosen / fastest: median %.3f, 90 %% %.3f, most %.3f, geometric mean %.4f; slowest / fastest: geometric mean %.4f",
		len(regrets),
		quantile(regrets, 0.5), quantile(regrets, 0.9), quantile(regrets, 1), geometric(regrets), geometric(spreads))
	if quantile(regrets, 0.5) > 1.01 || quantile(regrets, 0.9) > 1.05 {
		t.Errorf("half of the choices lose more than %.1f %%, a tenth more than %.1f %%", 100*quantile(regrets, 0.5)-100,
			100*quantile(regrets, 0.9)-100)
	}
}

func quantile(list []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[int(q*float64(len(sorted)-1))]
}

func geometric(list []float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += math.Log(x)
	}
	return math.Exp(sum / float64(len(list)))
}
