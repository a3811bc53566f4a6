package lowering

import (
	"cmp"
	"slices"

	"github.com/hirgen/hirgen/lowering/cost"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model"
)

// A Candidate is a schedule that a program could have. Set makes its choices, so many, in a program that no
// pass has run on. Whole says that with it no operation is cut: it is safe where others gain little.
type Candidate struct {
	Name    string
	Whole   bool
	Choices int
	Set     func(*hostir.Program)
}

// A Ranked is a candidate and what it was predicted to take. Refused says why a program cannot have it;
// then there is no prediction.
type Ranked struct {
	Candidate
	Prediction *cost.Prediction
	Refused    error
}

// RankSchedules lowers a pipeline with each of some schedules and predicts how long a call of it takes on
// a machine. The fastest comes first, those that are as fast in their order, and those that the
// pipeline cannot have last. The error is that of a pipeline that cannot be built.
func RankSchedules(p *model.Pipeline, candidates []Candidate, m *cost.Machine) ([]Ranked, error) {
	if _, err := Build(p); err != nil {
		return nil, err
	}
	return rank(func() (*hostir.Program, error) { return Build(p) }, candidates, m), nil
}

// rank is RankSchedules for programs that fresh makes, one for each candidate.
func rank(fresh func() (*hostir.Program, error), candidates []Candidate, m *cost.Machine) []Ranked {
	ranked := make([]Ranked, len(candidates))
	for i, c := range candidates {
		ranked[i].Candidate = c
		ranked[i].Prediction, ranked[i].Refused = try(fresh, c, m)
	}
	slices.SortStableFunc(ranked, func(a, b Ranked) int {
		if a.Prediction == nil || b.Prediction == nil {
			return cmp.Compare(b2i(a.Prediction == nil), b2i(b.Prediction == nil))
		}
		return cmp.Compare(a.Prediction.Total, b.Prediction.Total)
	})
	return ranked
}

// try lowers a program with a candidate, and predicts it.
func try(fresh func() (*hostir.Program, error), c Candidate, m *cost.Machine) (*cost.Prediction, error) {
	program, err := fresh()
	if err != nil {
		return nil, err
	}
	program.Auto = nil // all is chosen
	c.Set(program)
	if err := Run(program, passesToTry, Options{}); err != nil {
		return nil, err
	}
	return cost.Predict(program, m)
}

// passesToTry is Passes, which the first of them could not name: it is chosen by there.
var passesToTry []Pass

func init() { passesToTry = Passes }

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// alike is the factor within which times are the same: it is less than how repeats of a program differ.
const alike = 1.02

// Best is the schedule to take of ranked ones: the fastest, unless one that cuts nothing is slower by
// less than the model is sure of. Of those that are as fast as it, the one with the fewest choices is
// taken. ok is false where there is no prediction.
func Best(ranked []Ranked) (best Ranked, ok bool) {
	if len(ranked) == 0 || ranked[0].Prediction == nil {
		return Ranked{}, false
	}
	first := 0
	for i, r := range ranked {
		if r.Whole && r.Prediction != nil && !ranked[0].Whole && !ranked[0].Prediction.Gains(r.Prediction) {
			first = i
			break
		}
	}
	best = ranked[first]
	limit := alike * best.Prediction.Total
	for _, r := range ranked[first:] {
		if r.Prediction != nil && r.Prediction.Total <= limit && r.Choices < best.Choices {
			best = r
		}
	}
	return best, true
}
