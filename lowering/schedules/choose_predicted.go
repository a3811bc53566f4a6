package schedules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/model/schedule"
)

// nearEnough is the distance below which the schedule of a measurement is used: less than a factor of two in
// one size. Beyond it, the model predicts better.
const nearEnough = 1

// MeasuredMachine is the machine of the measurements, and of predictions unless another machine is given.
const MeasuredMachine = "h200"

// orMeasured returns m, or MeasuredMachine if m is nil.
func orMeasured(m *cost.Machine) (*cost.Machine, error) {
	if m != nil {
		return m, nil
	}
	return cost.LoadMachine(MeasuredMachine)
}

// ChooseOn makes the choices of schedule: auto by the model of a machine only. It may leave the schedule
// unchanged.
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

// predictOn applies the schedule that the model of a machine predicts to be the fastest, and returns the reason. The
// candidates are the measured schedules of all operations, some additional ones, and the program unchanged. On one
// rank, only eager schedules and the unchanged program are candidates. With lower.Places, candidates may also have
// another form of the program. predictOn chooses nothing, and basis is empty, if no candidate has a prediction, or
// if a program on several ranks does not communicate with the best one. For a large program, only the beginning is
// predicted.
func predictOn(p *hostir.Program, m *cost.Machine, lower Lower) (basis string, err error) {
	beginning, err := beginningOf(p, mostOperations)
	if err != nil {
		return "", err
	}
	ranked := Rank(func() (*hostir.Program, error) { return text.Parse(p.File, beginning) }, candidates(p), m, lower)
	var forms []*Form
	if lower.Places {
		if forms, err = formsOf(p, m); err != nil {
			return "", err
		}
	}
	for _, form := range forms {
		ranked = rankForm(ranked, form, m, lower)
	}
	best, ok := Best(ranked)
	if !ok || !best.Prediction.Moves && !alone(p) {
		return "", nil
	}
	if p.Derived != nil {
		noteDerived(p.Derived, ranked, best)
	}
	if best.Form != nil {
		*p = *best.Form.Program
	}
	best.Set(p)
	basis = fmt.Sprintf("predicted %s on %s with %s", microseconds(best.Prediction.Total), m.Name, best.Name)
	if best.Form != nil {
		basis += " and " + best.Form.Name
	}
	if len(p.Body) > mostOperations {
		basis = fmt.Sprintf("the first %d of %d operations, %s", mostOperations, len(p.Body), basis)
	}
	plain := slices.IndexFunc(ranked, func(r Ranked) bool { return r.Name == asIs && r.Form == nil && r.Prediction != nil })
	if plain >= 0 && (best.Form != nil || best.Name != asIs) {
		basis += ", " + microseconds(ranked[plain].Prediction.Total) + " with " + asIs
	}
	return basis, nil
}

// asIs names the schedule with the given choices, and the default for every other field.
const asIs = "the default of each field"

// candidates lists the program's schedule unchanged, the measured schedules without duplicates, and the
// unmeasured ones. If the spec asks for a pipeline, it omits eager schedules and those with another pipeline.
// On one rank, it omits all but eager ones. Schedules that cut nothing are safe (Whole), and so is the
// unchanged schedule.
func candidates(p *hostir.Program) []Candidate {
	list := []Candidate{{Name: asIs, Whole: true, Set: func(*hostir.Program) {}}}
	pipeline, asked := p.Choices.Given("", schedule.Pipeline)
	ranks := p.Meshes[0].Size()
	seen := map[string]bool{}
	for _, m := range append(slices.Clone(measured), unmeasured(ranks)...) {
		own := schedule.Schedule{Choices: m.choices}
		eager := own.Get(schedule.Preset) == schedule.Eager
		if seen[m.schedule] || asked && (eager || pipeline.Value != own.Get(schedule.Pipeline)) || alone(p) && !eager {
			continue
		}
		seen[m.schedule] = true
		number := counted(m.choices)
		whole := eager || number == 0 || own.Of("", schedule.Block) == strconv.Itoa(ranks)
		list = append(list, Candidate{Name: m.schedule, Whole: whole, Choices: number, Set: m.choose})
	}
	return list
}

// counted counts the choices that distinguish a schedule from the default. A CUDA graph does not count: it
// keeps the order of the program. On GPUs it gained 1 to 3 % in all backward passes of layers that were timed
// with and without it.
func counted(choices []schedule.Choice) int {
	return len(slices.DeleteFunc(slices.Clone(choices), func(c schedule.Choice) bool { return c.Field == schedule.Graph }))
}

// alone reports whether a program runs on one rank.
func alone(p *hostir.Program) bool { return p.Meshes[0].Size() == 1 }

// communicateResults is a schedule that computes where the operands are and moves the results. The model
// predicts it well: each rank computes less. No measurement has it, since the operands of a measured GEMM
// differ from rank to rank.
const communicateResults = "reshard after"

// unmeasured lists schedules, for the given number of ranks, that were not the fastest for any measured
// operation. Some are for programs of several operations. Others are for small operations: a CUDA graph
// launches them at once, or sums read the parts of the peers.
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

// microseconds formats a time as measurements do.
func microseconds(us float64) string { return measurement{us: us}.time() }

// describe formats a problem as the prefix of a basis; "" if it is not known.
func (p problem) describe(known bool) string {
	if !known {
		return ""
	}
	return p.String() + ": "
}
