package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model"
)

// Tuned is the result of a search on the machine.
type Tuned struct {
	Winner Candidate
	// Rows are all programs: those that were left at the end, the fastest first, then the eliminated ones, the last
	// eliminated first, then those that did not run. schedule: auto is one of them and may precede the winner.
	Rows   []Row
	Rounds int // number of rounds of the search
}

// auto is the label of the case with schedule: auto in a search.
const auto = "schedule=auto"

// Tune times candidates and schedule: auto in alternating rounds. Every two rounds it drops the slower half and failed
// programs, but auto only if it failed. It ends when at most one candidate is left, when the 90th percentile of the
// fastest candidate is below the 10th of the second, or after 16 rounds. It returns an error if no candidate could be
// measured.
func Tune(ctx context.Context, spec string, params map[string]int64, candidates []Candidate, o Options) (*Tuned, error) {
	cases := []Case{{Spec: spec, Params: params, Settings: []model.Setting{{Value: "auto"}}, Label: auto}}
	for _, c := range candidates {
		cases = append(cases, Case{Spec: spec, Params: params, Settings: c.Settings, Label: c.Name()})
	}
	r := &run{Options: &o, ctx: ctx, alone: map[string]*program{}, all: 2 * len(cases)}
	var g []*program
	for _, c := range cases {
		p, err := until(ctx, func() *program { return o.lower(c) })
		if err != nil {
			return nil, err
		}
		if p.row.Status == "" {
			r.step(0, "building "+p.row.Problem()+" "+p.row.caseName())
			if err := r.build(ctx, p); err != nil {
				return nil, err
			}
		}
		g = append(g, p)
		r.step(1, "")
	}
	turns, err := r.startAll(g)
	defer killAll(turns)
	if err != nil {
		return nil, err
	}
	r.step(0, fmt.Sprintf("timing %d schedules of %s", len(g), g[0].row.Problem()))
	left, rounds := r.halve(turns)
	r.step(r.all-r.done, "")
	result := &Tuned{Rounds: rounds}
	for _, t := range left {
		result.Rows = append(result.Rows, t.row)
	}
	at := slices.IndexFunc(result.Rows, func(row Row) bool { return row.Status == OK && row.Label != auto })
	if at < 0 {
		return result, errors.New("no candidate could be measured")
	}
	named := slices.IndexFunc(candidates, func(c Candidate) bool { return c.Name() == result.Rows[at].Label })
	result.Winner = candidates[named]
	return result, ctx.Err()
}

// startAll starts programs and waits until each is ready or has failed.
func (r *run) startAll(g []*program) ([]*turn, error) {
	var turns []*turn
	for some := range slices.Chunk(g, max(1, cmp.Or(r.Starting, len(g)))) {
		var starting []*turn
		for _, p := range some {
			t, err := r.start(p)
			if err != nil {
				return append(turns, starting...), err
			}
			starting = append(starting, t)
		}
		for _, t := range starting {
			t.guard(func() error { return t.running.ready(startLimit) })
		}
		turns = append(turns, starting...)
	}
	return turns, nil
}

func killAll(turns []*turn) {
	for _, t := range turns {
		t.kill()
	}
}

// Rounds between two cuts, and the most cuts.
const (
	roundsOfStage = 2
	mostStages    = 8
)

// halve times programs until the fastest is known, for at most mostStages stages. It returns all programs in the order
// of Tuned.Rows, and the number of rounds.
func (r *run) halve(turns []*turn) (ranked []*turn, rounds int) {
	running := func(t *turn) bool { return t.running != nil }
	racing := lists.Except(turns, func(t *turn) bool { return !running(t) })
	var gone []*turn
	for range mostStages {
		for range roundsOfStage {
			for i := range racing {
				t := racing[(i+rounds)%len(racing)]
				t.guard(t.round)
			}
			rounds++
		}
		for _, t := range racing {
			t.row.take(t.times)
		}
		slices.SortStableFunc(racing, func(a, b *turn) int {
			return cmp.Or(boolean(running(b))-boolean(running(a)), cmp.Compare(a.row.Median, b.row.Median))
		})
		var leaving []*turn
		racing, leaving = cutHalf(racing)
		for _, t := range leaving {
			t.finish()
		}
		r.step(len(leaving), "")
		gone = append(leaving, gone...)
		if len(racing) < 2 || decided(racing) {
			break
		}
	}
	for _, t := range racing {
		t.finish()
	}
	refused := lists.Except(turns, func(t *turn) bool { return slices.Contains(racing, t) || slices.Contains(gone, t) })
	return slices.Concat(racing, gone, refused), rounds
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// cutHalf drops the slower half of sorted programs and the failed ones. It keeps the fastest candidate and auto, unless
// they failed.
func cutHalf(racing []*turn) (stay, leave []*turn) {
	half := (len(racing) + 1) / 2
	best := slices.IndexFunc(racing, func(t *turn) bool { return t.row.Label != auto })
	for i, t := range racing {
		if t.running != nil && (i < half || i == best || t.row.Label == auto) {
			stay = append(stay, t)
		} else {
			leave = append(leave, t)
		}
	}
	return stay, leave
}

// decided reports whether, apart from auto, at most one of sorted programs is left, or the 90th percentile of the first is
// below the 10th of the second.
func decided(racing []*turn) bool {
	others := lists.Except(racing, func(t *turn) bool { return t.row.Label == auto })
	return len(others) < 2 || others[0].row.P90 < others[1].row.P10
}
