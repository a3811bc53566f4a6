package schedules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/lowering/cost"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/model/schedule"
)

// nearEnough is how far a problem may be from a measurement that its schedule is taken from: less than
// a doubling of one size. Farther away the model is the better judge.
const nearEnough = 1

// MeasuredMachine is what the measurements are of, and so what schedules are predicted on beside them.
const MeasuredMachine = "h200"

// byMeasuredMachine predicts by the model of the machine that the measurements are of.
func byMeasuredMachine(lower Lower) predictor {
	return func(p *hostir.Program) (basis string, err error) {
		m, err := cost.LoadMachine(MeasuredMachine)
		if err != nil {
			return "", err
		}
		return predictOn(p, m, lower)
	}
}

// ChooseOn makes the choices of schedule: auto by the model of a machine alone, where it makes any.
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

// predictOn makes the choices that the model of a machine expects to be the fastest, and says so. It chooses among
// the schedules that were measured for any operation, and the program as it is; on one rank, of those that cut nothing.
// It chooses nothing where nothing crosses several ranks. Of a large program it tries the beginning.
func predictOn(p *hostir.Program, m *cost.Machine, lower Lower) (basis string, err error) {
	beginning, err := beginningOf(p, mostOperations)
	if err != nil {
		return "", err
	}
	ranked := Rank(func() (*hostir.Program, error) { return text.Parse(p.File, beginning) }, candidates(p), m, lower)
	best, ok := Best(ranked)
	if !ok || len(best.Prediction.Communications) == 0 && !alone(p) {
		return "", nil
	}
	best.Set(p)
	basis = fmt.Sprintf("predicted %s on %s with %s", microseconds(best.Prediction.Total), m.Name, best.Name)
	if len(p.Body) > mostOperations {
		basis = fmt.Sprintf("the first %d of %d operations, %s", mostOperations, len(p.Body), basis)
	}
	if i := slices.IndexFunc(ranked, func(r Ranked) bool { return r.Name == asIs && r.Prediction != nil }); i >= 0 && best.Name != asIs {
		basis += ", " + microseconds(ranked[i].Prediction.Total) + " with " + asIs
	}
	return basis, nil
}

// asIs names the schedule that a program has by what is given, and the default of every other field.
const asIs = "schedule: {}"

// candidates are the schedules of the measurements, each once, further ones, and none. Those that cut nothing are safe, and so is
// the default, which a gain has to be sure of.
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
		whole := eager || own.Of("", schedule.Block) == strconv.Itoa(ranks)
		list = append(list, Candidate{Name: m.schedule, Whole: whole, Choices: counted(m.choices), Set: m.choose})
	}
	return list
}

// counted is how many choices a schedule makes that tell it from the default one. A CUDA graph counts for none: it orders what the
// program orders, and on GPUs it gained 1 to 3 % in all backward passes of layers that were timed with it and without.
func counted(choices []schedule.Choice) int {
	return len(slices.DeleteFunc(slices.Clone(choices), func(c schedule.Choice) bool { return c.Field == schedule.Graph }))
}

// alone reports whether a program runs on one rank.
func alone(p *hostir.Program) bool { return p.Meshes[0].Size() == 1 }

// communicateResults computes parts where they are and moves results, as the model can foresee well: each rank has less to
// compute. No measurement has it, since the operands of a measured GEMM differ from rank to rank.
const communicateResults = "reshard after"

// unmeasured are schedules that were not the fastest of any measured operation: for more than one of them, and for small
// ones on D ranks, which a CUDA graph launches at once, or whose sums read the parts of the peers.
func unmeasured(ranks int) []measurement {
	var list []measurement
	for _, text := range []string{
		communicateResults,
		"pipeline p2p, streams 2, all.via ipc-put, all.signals batched, all.split 2, all.steps bracket",
		"pipeline p2p, streams 2, all.via ipc-get, all.signals batched, all.split 2, all.steps bracket",
		"pipeline p2p, streams 0, all.via ipc-put, all.signals batched, all.split 2, all.steps bracket",
		"pipeline p2p, streams 0, all.via ipc-put, all.signals batched, all.split 2, all.steps bracket, graph true",
		"pipeline p2p, streams 0, all.via ipc-get, all.signals batched, graph true",
		"pipeline p2p, streams 0, all.via ipc-put, all.signals batched, graph true",
		"pipeline p2p, streams 0, all.via ipc-put, all.signals batched, all.steps ring, graph true",
		"pipeline p2p, streams 0, all.via ipc-put, all.signals batched, all.block D, graph true",
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

// microseconds prints a time as measurements do.
func microseconds(us float64) string { return measurement{us: us}.time() }

// describe is what a basis says of a problem first; "" for one that is not known.
func (p problem) describe(known bool) string {
	if !known {
		return ""
	}
	return p.String() + ": "
}
