package recall

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schedule"
	"github.com/hirgen/hirgen/prove"
	"github.com/hirgen/hirgen/prove/values"
)

// Timing is how long a proof took.
type Timing struct {
	Name       string
	Ranks      int64
	Operations int           // number of operations of all ranks in a call
	Took       time.Duration // processor time to read the spec, lower it unless its calls were given, and prove it
	Limit      time.Duration // 0: none
	Error      error         // why it is not proved
}

// within is the time limit for the proof of an example, by its number of ranks.
var within = map[int64]time.Duration{8: time.Second / 2, 64: 5 * time.Second}

// forChoice is how many times as long an example with schedule: auto may take. To choose, hirgen may lower it with some
// 28 schedules, each of which takes a small part of the limit.
const forChoice = 5

// wider overrides parameters of examples that are too small for the number of ranks, such as the number of heads.
var wider = map[int64]map[string]map[string]int64{
	64: {"llama_block": {"H": 128, "G": 64}, "llama_block_sp": {"H": 128, "G": 64}},
}

// TimeExamples proves every example on 8 ranks and on 64, as hirgen verify does.
func TimeExamples(root string) ([]*Timing, error) {
	files, _ := filepath.Glob(filepath.Join(root, "testdata", "specs", "*", "spec.yaml"))
	if len(files) == 0 {
		return nil, fmt.Errorf("there are no specs in %s", root)
	}
	var list []*Timing
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		for _, ranks := range []int64{8, 64} {
			list = append(list, timed(name, file, ranks, wider[ranks][name], nil))
		}
	}
	return list, nil
}

// TimeRing proves the AG+matmul ring on increasing numbers of ranks up to most. All proofs use the same calls; only the
// number of ranks changes.
func TimeRing(root string, most int64) ([]*Timing, error) {
	const name = "ag_matmul_ring"
	file := filepath.Join(root, "testdata", "specs", name, "spec.yaml")
	pipeline, _, err := model.LoadFile(file, nil)
	if err != nil {
		return nil, err
	}
	programs, err := callsOf(pipeline)
	if err != nil {
		return nil, err
	}
	var list []*Timing
	for ranks := int64(8); ranks <= most; ranks *= 2 {
		list = append(list, timed(name, file, ranks, nil, programs))
	}
	return list, nil
}

// timed proves a spec on the given number of ranks, with the given calls or else its own.
func timed(name, file string, ranks int64, params map[string]int64, programs []*calls.Program) *Timing {
	t := &Timing{Name: name, Ranks: ranks, Limit: within[ranks]}
	start := processorTime()
	t.Error = t.prove(file, params, programs)
	t.Took = processorTime() - start
	return t
}

func (t *Timing) prove(file string, params map[string]int64, programs []*calls.Program) error {
	spec, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return err
	}
	pipeline, err := model.Load(file, spec, nil)
	if err != nil {
		return err
	}
	all := map[string]int64{meshParam(pipeline): t.Ranks}
	maps.Copy(all, params)
	load := func(values map[string]int64) (*model.Pipeline, error) {
		merged := maps.Clone(all)
		maps.Copy(merged, values)
		return model.Load(file, spec, merged)
	}
	if programs == nil {
		if pipeline.Schedule.Get(schedule.Preset) == schedule.Auto {
			t.Limit *= forChoice
		}
		if pipeline, err = load(nil); err == nil {
			programs, err = callsOf(pipeline)
		}
	}
	for i := 0; i < len(programs) && err == nil; i++ {
		err = t.against(programs[i], all, load)
	}
	return err
}

// against proves the calls with other values of some parameters.
func (t *Timing) against(p *calls.Program, params map[string]int64, load values.Load) error {
	for _, d := range p.Params {
		if v, ok := params[d.Spec]; ok {
			d.Value = v
		}
	}
	report, err := prove.Against(p, load)
	if err != nil {
		return err
	}
	t.Operations = max(t.Operations, report.Operations)
	if !report.Proved() {
		return fmt.Errorf("not proved: %s", report.Findings[0].Message)
	}
	return nil
}

// callsOf lowers a pipeline, with its fallback variant.
func callsOf(p *model.Pipeline) ([]*calls.Program, error) {
	program, err := lowering.Lower(p, lowering.Options{})
	if err != nil {
		return nil, err
	}
	return program.Programs(), nil
}

// meshParam returns the parameter that sets the number of ranks of a spec, or "" if there is none.
func meshParam(p *model.Pipeline) string {
	if len(p.Meshes) == 1 && len(p.Meshes[0].Axes) == 1 {
		extent := p.Meshes[0].Axes[0].Expr().String()
		for _, d := range p.Params {
			if d.Name == extent {
				return extent
			}
		}
	}
	return ""
}
