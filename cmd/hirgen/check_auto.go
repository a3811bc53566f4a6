package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schedule"
)

// describeAuto returns one line with the choices of schedule: auto and their basis.
func describeAuto(p *hostir.Program) string {
	return "schedule: auto, " + p.Auto.Basis + "\n"
}

// autoTime predicts the program that schedule: auto would make, for a spec that has a schedule without a preset. Its
// author may not know how fast auto is. autoTime returns nil for other specs, if auto makes no program, and if that
// program has too many calls for a prediction.
func (f *specFlags) autoTime(p *hostir.Program, src *source) (*cost.Prediction, error) {
	if _, preset := p.Choices.Given("", schedule.Preset); preset || p.Auto != nil {
		return nil, nil
	}
	overrides, err := parseParams(f.params)
	if err != nil {
		return nil, err
	}
	same := model.Setting{Path: schedule.Deterministic, Value: p.Choices.Get(schedule.Deterministic)}
	pipeline, err := model.Load(src.path, src.text, overrides, model.Setting{Value: schedule.Auto}, same)
	if err != nil {
		return nil, nil //nolint:nilerr // auto makes no program of it, which is no mistake of the spec
	}
	quiet := specFlags{disable: f.disable, machine: f.machine}
	options, err := quiet.loweringOptions(io.Discard)
	if err != nil {
		return nil, err
	}
	other, err := lowering.Lower(pipeline, options)
	if err != nil {
		return nil, nil //nolint:nilerr // here, too, auto makes no program, which is no mistake of the spec
	}
	machine, err := loadMachine(f.machine)
	if err != nil {
		return nil, err
	}
	return cost.Predict(other.Programs(), machine)
}

// writeSchedule writes the choices of a program to a file for --schedule-file, so that another version of hirgen, whose auto
// may choose otherwise, makes the same program.
func writeSchedule(path string, p *hostir.Program) error {
	settings := []model.Setting{{Value: model.Defaults}}
	if p.Fallback != nil {
		settings = append(settings, model.Setting{Path: schedule.Transport, Value: schedule.Auto})
	}
	for _, c := range p.Choices.Choices {
		if c.Path() != schedule.Preset || c.Value != schedule.Auto {
			settings = append(settings, model.Setting{Path: c.Path(), Value: c.Value})
		}
	}
	slices.SortStableFunc(settings[1:], func(a, b model.Setting) int { return cmp.Compare(a.Path, b.Path) })
	text, err := model.PrintSchedule(settings)
	if err != nil {
		return err
	}
	about := fmt.Sprintf("# The schedule of %s, for --schedule-file, or for the end of the spec.\n", p.Name)
	if p.Auto != nil {
		about += "# Chosen by auto: " + p.Auto.Basis + "\n"
	}
	return toFile(path, func(w io.Writer) error {
		_, err := io.WriteString(w, about+text)
		return err
	})
}
