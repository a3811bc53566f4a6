package schedules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/model/schedule"
)

// nearEnough is the distance below which the schedule of a measurement is used. A factor of two in a single size is a
// distance of 1. At larger distances, the prediction is better.
const nearEnough = 1

// MeasuredMachine is the machine of the measurements. Predictions are for this machine unless another one is given.
const MeasuredMachine = "h200"

// orMeasured returns m, or MeasuredMachine if m is nil.
func orMeasured(m *cost.Machine) (*cost.Machine, error) {
	if m != nil {
		return m, nil
	}
	return cost.LoadMachine(MeasuredMachine)
}

// ChooseOn makes the choices of schedule: auto by predictions for a machine, without measurements. It may leave the
// schedule unchanged.
func ChooseOn(p *hostir.Program, m *cost.Machine, lower Lower) error {
	if p.Auto == nil {
		return nil
	}
	problem, known := recognise(p.Body)
	basis, err := predictOn(p, m, lower)
	if basis != "" {
		p.Auto.Basis = problem.describe(known) + basis
	}
	return err
}

// predictOn applies the schedule that is predicted to be the fastest on a machine, and returns the reason. The
// candidates are the measured schedules of all operations, some additional schedules, and the schedule unchanged. On
// one rank, only eager schedules and the unchanged schedule are candidates. With lower.Places, candidates may also have
// another form of the program. predictOn chooses nothing, and basis is empty, if no candidate has a prediction. For a
// large program, it predicts only the beginning.
func predictOn(p *hostir.Program, m *cost.Machine, lower Lower) (basis string, err error) {
	beginning, predicted, err := beginningOf(p, mostOperations)
	if err != nil {
		return "", err
	}
	ranked := Rank(func() (*hostir.Program, error) { return text.Parse(p.File, beginning) }, candidates(p), m, lower)
	var forms []*Form
	if lower.Places {
		if forms, err = formsOf(p, beginning, m); err != nil {
			return "", err
		}
	}
	for _, form := range forms {
		ranked = rankForm(ranked, form, m, lower)
	}
	best, ok := Best(ranked)
	if !ok {
		return "", nil
	}
	if p.Derived != nil {
		noteDerived(p.Derived, ranked, best)
	}
	operations := len(p.Body)
	if best.Form != nil {
		best.Form.set(p)
	}
	best.Set(p)
	basis = fmt.Sprintf("predicted %s on %s with %s", microseconds(best.Prediction.Total), m.Name, best.Name)
	if best.Form != nil {
		basis += " and " + best.Form.Name
	}
	if operations > predicted {
		basis = fmt.Sprintf("the first %d of %d operations, %s", predicted, operations, basis)
	}
	plain := slices.IndexFunc(ranked, func(r Ranked) bool { return r.Name == asIs && r.Form == nil && r.Prediction != nil })
	if plain >= 0 && (best.Form != nil || best.Name != asIs) {
		basis += ", " + microseconds(ranked[plain].Prediction.Total) + " with " + asIs
	}
	return basis, nil
}

// asIs describes the unchanged schedule: the fields of the spec, and the default of every other field.
const asIs = "the default of each field"

// mostExchanging is the largest number of ranks along a mesh axis for which auto tries point-to-point pipelines on its
// own. The number of their calls grows with the square of the ranks: for 1,024 ranks, hirgen check needed over 24 GB
// of memory.
const mostExchanging = 128

// candidates lists the program's schedule unchanged, the measured schedules without duplicates, and the unmeasured
// ones. If the spec sets a pipeline, it omits eager schedules and schedules with another pipeline. On one rank, it
// omits all except eager ones. If a mesh axis has more than mostExchanging ranks, it omits point-to-point
// pipelines, unless the spec sets a pipeline or fields of communications. Whole is set for schedules that split no
// operation, and for the unchanged schedule.
func candidates(p *hostir.Program) []Candidate {
	list := []Candidate{{Name: asIs, Whole: true, Set: func(*hostir.Program) {}}}
	pipeline, asked := p.Choices.Given("", schedule.Pipeline)
	ranks := p.Meshes[0].Size()
	exchanges := longestAxis(p) <= mostExchanging ||
		slices.ContainsFunc(p.Choices.Choices, func(c schedule.Choice) bool { return c.Of != "" })
	seen := map[string]bool{}
	for _, m := range append(slices.Clone(measured), unmeasured(ranks)...) {
		own := schedule.Schedule{Choices: m.choices}
		eager := own.Get(schedule.Preset) == schedule.Eager
		moves := own.Get(schedule.Pipeline)
		if seen[m.schedule] || asked && (eager || pipeline.Value != moves) || alone(p) && !eager ||
			!asked && moves == schedule.P2P && !exchanges {
			continue
		}
		seen[m.schedule] = true
		number := counted(m.choices)
		whole := eager || number == 0 || own.Of("", schedule.Block) == strconv.Itoa(ranks)
		list = append(list, Candidate{Name: m.schedule, Whole: whole, Choices: number, Set: m.choose})
	}
	return list
}

// longestAxis returns the number of ranks along the longest mesh axis.
func longestAxis(p *hostir.Program) int64 {
	longest := int64(1)
	for _, m := range p.Meshes {
		for _, a := range m.Axes {
			longest = max(longest, a.Size)
		}
	}
	return longest
}

// counted returns the number of fields that differ from the default. A CUDA graph does not count, because it keeps the
// order of the program. On GPUs it gained 1 to 3 % in all backward passes of layers that were timed with and without
// it.
func counted(choices []schedule.Choice) int {
	return len(lists.Except(choices, func(c schedule.Choice) bool { return c.Field == schedule.Graph }))
}

// alone reports whether a program runs on a single rank.
func alone(p *hostir.Program) bool { return p.Meshes[0].Size() == 1 }

// communicateResults is a schedule that computes where the operands are and communicates the results. It is often
// predicted to be fast, because each rank computes less. It is in no measurement, because in each measured GEMM the
// operands differ from rank to rank.
const communicateResults = "reshard after"

// unmeasured lists schedules, for the given number of ranks, that were not the fastest for any measured operation. Some
// are for programs of several operations. Others are for small operations: a CUDA graph launches these at once, or a
// kernel reads the peers' partial sums in place.
func unmeasured(ranks int) []measurement {
	var list []measurement
	for _, text := range []string{
		communicateResults,
		"graph true",
		"pipeline p2p, streams 2, all.via ipc-put, all.signals batched, all.split 2, all.steps bracket",
		"pipeline p2p, streams 2, all.via ipc-get, all.signals batched, all.split 2, all.steps bracket",
		"pipeline p2p, streams 0, all.via ipc-put, all.signals batched, all.split 2, all.steps bracket",
		"pipeline p2p, streams 0, all.via ipc-put, all.signals batched, all.split 2, all.steps bracket, graph true",
		"pipeline p2p, streams 0, all.via ipc-get, all.signals batched, graph true",
		"pipeline p2p, streams 0, all.via ipc-put, all.signals batched, graph true",
		"pipeline p2p, streams 0, all.via ipc-put, all.signals batched, all.steps ring, graph true",
		"pipeline p2p, streams 0, all.via ipc-put, all.signals batched, all.block D, all.copy sm, graph true",
		"pipeline p2p, streams 0, all.via ipc-put, all.signals batched, all.copy sm, all.fuse exchange, graph true",
		"pipeline p2p, streams 0, all.via ipc-put, all.signals batched, all.local last, graph true",
		"pipeline p2p, streams 0, all.via ipc-get, all.signals batched, all.block D, all.fuse peer-read",
		"pipeline p2p, streams 0, all.via ipc-get, all.signals batched, all.block D, all.fuse peer-read, graph true",
	} {
		text = strings.ReplaceAll(text, "block D", fmt.Sprint("block ", ranks))
		choices, err := parseChoices(text)
		if err != nil {
			panic("schedules: " + err.Error())
		}
		list = append(list, measurement{choices: choices, schedule: text})
	}
	return list
}

// microseconds formats a time like the times of measurements.
func microseconds(us float64) string { return measurement{us: us}.time() }

// describe formats a problem as the prefix of a basis. It returns "" if known is not set.
func (p problem) describe(known bool) string {
	if !known {
		return ""
	}
	return p.String() + ": "
}
