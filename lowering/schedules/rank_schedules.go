package schedules

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// A Candidate is a schedule that a program could have. Set applies it to a program before any pass. Choices is the
// number of fields that differ from the default, where a CUDA graph counts as none and a Form as one. Whole is set for
// schedules that split no operation, and for the unchanged one: Best prefers these if others gain little. Form is nil
// for the program of the spec.
type Candidate struct {
	Name    string
	Whole   bool
	Choices int
	Set     func(*hostir.Program)
	Form    *Form
}

// A Ranked is a candidate with its prediction. If the program cannot have the candidate, Refused is the error, and
// Prediction is nil. Prediction is also nil if the program has more than cost.MaxCalls calls.
type Ranked struct {
	Candidate
	Prediction *cost.Prediction
	Refused    error
}

// Lower has the function that lowers a program with a chosen schedule to calls, with all passes except
// assign-placements and disabled ones. If Places is not set, schedule: auto tries no other forms of the program.
type Lower struct {
	Run    func(*hostir.Program) ([]*calls.Program, error)
	Places bool
}

// Rank lowers a program from fresh with each candidate, and predicts how long a call takes on a machine. It sorts the
// candidates by time; equal times keep the order of candidates, and candidates without a prediction are last. The times
// of the triedFirst fastest and of candidates without choices are exact predictions. Other times may be lower bounds.
func Rank(fresh func() (*hostir.Program, error), candidates []Candidate, m *cost.Machine, lower Lower) []Ranked {
	ranked := make([]Ranked, len(candidates))
	var times fastest
	var all sync.WaitGroup
	left := make(chan int, len(candidates))
	for _, whole := range []bool{true, false} { // programs that split nothing are short, and often fast
		for i, c := range candidates {
			if ranked[i].Candidate = c; c.Whole == whole {
				left <- i
			}
		}
	}
	close(left)
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for i := range left {
				r := &ranked[i]
				if r.Prediction, r.Refused = try(fresh, r.Candidate, m, lower, &times); r.Prediction != nil {
					times.add(r.Prediction.Total)
				}
			}
		})
	}
	all.Wait()
	return byTime(ranked)
}

// fastest collects the predicted times so far, sorted.
type fastest struct {
	sync.Mutex
	times []float64
}

func (f *fastest) add(time float64) {
	f.Lock()
	defer f.Unlock()
	at, _ := slices.BinarySearch(f.times, time)
	f.times = slices.Insert(f.times, at, time)
}

// limit returns a time: a candidate that takes longer is neither the best nor among the triedFirst fastest.
func (f *fastest) limit() float64 {
	f.Lock()
	defer f.Unlock()
	if len(f.times) < triedFirst {
		return math.Inf(1)
	}
	return alike * f.times[triedFirst-1]
}

// byTime sorts candidates by their predicted times. Candidates without a prediction are last.
func byTime(ranked []Ranked) []Ranked {
	slices.SortStableFunc(ranked, func(a, b Ranked) int {
		if a.Prediction == nil || b.Prediction == nil {
			return cmp.Compare(b2i(a.Prediction == nil), b2i(b.Prediction == nil))
		}
		return cmp.Compare(a.Prediction.Total, b.Prediction.Total)
	})
	return ranked
}

// try lowers a program with a candidate and predicts its time. For a candidate with choices, the prediction may stop
// once it exceeds the limit of times.
func try(fresh func() (*hostir.Program, error), c Candidate, m *cost.Machine, lower Lower, times *fastest) (*cost.Prediction, error) {
	program, err := fresh()
	if err != nil {
		return nil, err
	}
	program.Auto = nil // schedule: auto has nothing left to choose
	c.Set(program)
	if program.Choices.Chooses(schedule.Via) {
		program.Choices.Unset(schedule.Transport) // the variant for several nodes is not predicted
	}
	lowered, err := lower.Run(program)
	if err != nil {
		return nil, err
	}
	limit := math.Inf(1)
	if c.Choices > 0 {
		limit = times.limit()
	}
	return cost.Estimate(lowered, m, limit)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// alike is the ratio up to which two times count as equal. It is smaller than the variation between repeated runs of a
// program.
const alike = 1.01

// Best returns the fastest of the ranked candidates, which must be sorted by time. Of equally fast candidates, it
// prefers Whole ones, because splits may cost more than predicted. If the host takes longer than the GPUs for one of them, it then prefers
// less time on the GPUs, which is the time of a call in a CUDA graph of the caller. Last come the fewest choices. ok is
// false if there is no prediction.
func Best(ranked []Ranked) (best Ranked, ok bool) {
	if len(ranked) == 0 || ranked[0].Prediction == nil {
		return Ranked{}, false
	}
	limit := alike * ranked[0].Prediction.Total
	list := lists.Except(ranked, func(r Ranked) bool { return r.Prediction == nil || r.Prediction.Total > limit })
	if slices.ContainsFunc(list, func(r Ranked) bool { return r.Whole }) {
		list = slices.DeleteFunc(list, func(r Ranked) bool { return !r.Whole })
	}
	if slices.ContainsFunc(list, func(r Ranked) bool { return r.Prediction.Host >= r.Prediction.Total }) {
		least := slices.MinFunc(list, func(a, b Ranked) int { return cmp.Compare(a.Prediction.GPUs, b.Prediction.GPUs) }).Prediction.GPUs
		list = slices.DeleteFunc(list, func(r Ranked) bool { return r.Prediction.GPUs > alike*least })
	}
	return slices.MinFunc(list, func(a, b Ranked) int { return a.Choices - b.Choices }), true
}
