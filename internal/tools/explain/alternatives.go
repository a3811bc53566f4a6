package explain

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/tools/bench"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/schedules"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schedule"
)

// Limits on the size of a program for which alternatives are lowered and predicted.
const (
	mostOperations = 256
	mostCalls      = 1 << 16 // limit of calls of all ranks together
)

// alternatives predicts the program with other schedules: first with one field changed, then with other complete
// schedules. If it predicts none, it notes the reason in Skipped.
func (page *Page) alternatives(in Input, program *hostir.Program, predicted *cost.Prediction) {
	if program.Auto != nil {
		page.Basis = program.Auto.Basis
	}
	switch {
	case predicted == nil:
		page.Skipped = "the program makes too many calls for a prediction"
	case in.Load == nil:
		page.Skipped = "they were not asked for"
	case len(predicted.Calls) > mostCalls:
		page.Skipped = fmt.Sprintf("a call of the program makes %d calls on all ranks, and %d are the limit", len(predicted.Calls), mostCalls)
	case len(in.Pipeline.Ops) > mostOperations:
		page.Skipped = fmt.Sprintf("the model has more than %d operations", mostOperations)
	case len(predicted.Communications) == 0:
		page.Skipped = "nothing crosses ranks"
	}
	if page.Skipped != "" {
		return
	}
	t := &trial{in: in, own: predicted.Total, ranks: program.Meshes[0].Size()}
	t.base = settingsOf(program.Choices.Schedule)
	var idle []string
	for i := range schedule.Fields {
		c, ok := t.field(&schedule.Fields[i], program)
		switch {
		case ok && c.By == byDefault && !slices.ContainsFunc(c.Others, Alternative.differs):
			idle = append(idle, c.Path)
		case ok:
			page.Choices = append(page.Choices, c)
		}
	}
	page.Idle = strings.Join(idle, ", ")
	page.Whole = t.whole(program)
}

// trial predicts a spec with other schedules.
type trial struct {
	in    Input
	base  []model.Setting // the schedule of the program
	own   float64         // predicted time of the program, in microseconds
	ranks int
}

// settingsOf returns settings that replace the spec's schedule by s.
func settingsOf(s schedule.Schedule) []model.Setting {
	list := []model.Setting{{Value: model.Defaults}}
	for _, c := range s.Choices {
		switch {
		case c.Path() != schedule.Preset:
			list = append(list, model.Setting{Path: c.Path(), Value: c.Value})
		case c.Value != schedule.Auto:
			list[0].Value = c.Value
		}
	}
	return list
}

// try predicts the spec with some settings, or notes why they are refused.
func (t *trial) try(name string, settings []model.Setting) Alternative {
	a := Alternative{Name: name}
	program, total, err := t.predict(settings)
	if err != nil {
		a.Refused = short(err)
		return a
	}
	if program.Auto != nil {
		a.Name += ", which chooses: " + program.Auto.Basis
	}
	a.Predicted, a.Difference = total, total-t.own
	return a
}

// predict lowers the spec with some settings, and returns the program and its predicted time in microseconds.
func (t *trial) predict(settings []model.Setting) (*hostir.Program, float64, error) {
	p, err := t.in.Load(settings...)
	if err != nil {
		return nil, 0, err
	}
	program, err := lowering.Host(p, lowering.Options{Machine: t.in.Options.Machine})
	if err != nil {
		return nil, 0, err
	}
	lowered, err := lowering.Calls(program, lowering.Options{})
	if err != nil {
		return nil, 0, err
	}
	r, err := cost.Predict(lowered.Programs(), t.in.Machine)
	if err == nil && r == nil {
		err = errors.New("the program makes too many calls for a prediction")
	}
	if err != nil {
		return nil, 0, err
	}
	return program, r.Total, nil
}

// short returns the message of the first error.
func short(err error) string {
	if found, ok := diag.Diagnostics(err); ok && len(found.Items) > 0 {
		return found.Items[0].Message
	}
	return err.Error()
}

// byDefault is the origin of a field that has its default value.
const byDefault = "default"

// differs reports whether the predicted time of the alternative differs from the program's by at least 0.05 us.
func (a Alternative) differs() bool { return a.Refused == "" && math.Abs(a.Difference) >= 0.05 }

// otherwise lists fields whose other values are not tried.
var otherwise = []string{schedule.Preset, "transport", "nodes"}

// field tries the other values of a field of the schedule. It returns false for a field that is not tried, and if the
// schedule does not set the field and all other values are refused.
func (t *trial) field(f *schedule.Field, program *hostir.Program) (Choice, bool) {
	if f.Reference != "" || slices.Contains(otherwise, f.Name) {
		return Choice{}, false
	}
	c := Choice{Path: f.Name, Value: program.Choices.Get(f.Name), By: byDefault}
	if f.Scope == schedule.Communication {
		c.Path, c.Value = schedule.Path(schedule.All, f.Name), program.Choices.Of("", f.Name)
	}
	at := slices.IndexFunc(t.base, func(s model.Setting) bool { return s.Path == c.Path })
	if at >= 0 {
		c.By = "the spec"
		if choice, ok := given(program, c.Path); ok && !program.Given(choice) {
			c.By = "auto"
		}
	}
	for _, value := range bench.Values(f, t.ranks) {
		if value == c.Value {
			continue
		}
		settings := slices.Clone(t.base)
		if at >= 0 {
			settings[at].Value = value
		} else {
			settings = append(settings, model.Setting{Path: c.Path, Value: value})
		}
		other := t.try(value, settings)
		if other.Refused != "" {
			alone := t.try(value+", other fields at their defaults", []model.Setting{{Value: model.Defaults}, {Path: c.Path, Value: value}})
			if alone.Refused == "" {
				other = alone
			}
		}
		c.Others = append(c.Others, other)
	}
	fastestFirst(c.Others)
	return c, at >= 0 || slices.ContainsFunc(c.Others, func(a Alternative) bool { return a.Refused == "" })
}

// given finds a choice of the program by its path. It returns false if there is none.
func given(program *hostir.Program, path string) (schedule.Choice, bool) {
	at := slices.IndexFunc(program.Choices.Choices, func(c schedule.Choice) bool { return c.Path() == path })
	if at < 0 {
		return schedule.Choice{}, false
	}
	return program.Choices.Choices[at], true
}

// whole ranks complete schedules: the program's, auto unless auto chose the program's, the default, no pipeline, and the
// schedules of schedules.Known: the fastest in any measurement, and others that auto predicts.
func (t *trial) whole(program *hostir.Program) []Alternative {
	list := []Alternative{
		{Name: "the schedule of the program", Predicted: t.own},
		t.try("schedule: {} (the default)", []model.Setting{{Value: model.Defaults}}),
		t.try("preset: eager (no pipeline)", []model.Setting{{Value: schedule.Eager}}),
	}
	if program.Auto == nil {
		list = append(list, t.try("schedule: auto", []model.Setting{{Value: schedule.Auto}}))
	}
	for _, choices := range schedules.Known(t.ranks) {
		var names []string
		settings := settingsOf(schedule.Schedule{Choices: choices})
		for _, c := range choices {
			names = append(names, c.Path()+"="+c.Value)
		}
		if a := (t.try(strings.Join(names, " "), settings)); len(names) > 0 &&
			!slices.ContainsFunc(list, func(o Alternative) bool { return o.Name == a.Name }) {
			list = append(list, a)
		}
	}
	fastestFirst(list)
	return list
}

// fastestFirst sorts alternatives by time. Refused alternatives come last.
func fastestFirst(list []Alternative) {
	slices.SortStableFunc(list, func(a, b Alternative) int {
		if (a.Refused == "") != (b.Refused == "") {
			return cmp.Compare(len(a.Refused), len(b.Refused))
		}
		return cmp.Compare(a.Predicted, b.Predicted)
	})
}
