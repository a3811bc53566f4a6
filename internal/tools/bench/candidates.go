package bench

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/schedules"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schedule"
)

// A Candidate is a schedule that a spec accepts, with the predicted time of a call in microseconds.
type Candidate struct {
	Settings  []model.Setting
	Predicted float64
}

// Name returns the fields of the schedule: "all.via=ipc-get pipeline=p2p", or "default" if there are none.
func (c Candidate) Name() string {
	var words []string
	for _, s := range c.Settings {
		if s.Path != "" {
			words = append(words, s.Path+"="+s.Value)
		}
	}
	return cmp.Or(strings.Join(words, " "), "default")
}

// Each of the searchSteps steps of a search tries all neighbours of the best searchFrom candidates.
const (
	searchFrom  = 3
	searchSteps = 2
)

// Candidates searches the schedules of a spec with the performance model. It starts from the default and from the
// schedules of schedules.Known, then changes single fields of the best. It returns the tried schedules that have a
// prediction, fastest first. Among schedules with the same prediction it keeps the one with the fewest fields.
func Candidates(spec string, params map[string]int64, ranks int, m *cost.Machine) []Candidate {
	s := search{spec: spec, params: params, machine: m, tried: map[string]bool{}}
	s.try(nil)
	for _, choices := range schedules.Known(ranks) {
		var settings []model.Setting
		for _, c := range choices {
			settings = append(settings, model.Setting{Path: c.Path(), Value: c.Value})
		}
		s.try(settings)
	}
	for range searchSteps {
		s.sort()
		for _, c := range slices.Clone(s.found[:min(searchFrom, len(s.found))]) {
			for _, n := range neighbours(c.Settings, ranks) {
				s.try(n)
			}
		}
	}
	s.sort()
	return slices.CompactFunc(s.found, func(a, b Candidate) bool { return a.Predicted == b.Predicted })
}

type search struct {
	spec    string
	params  map[string]int64
	machine *cost.Machine
	tried   map[string]bool
	found   []Candidate
}

func (s *search) sort() {
	slices.SortStableFunc(s.found, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(a.Predicted, b.Predicted), cmp.Compare(len(a.Settings), len(b.Settings)))
	})
}

// try predicts a schedule and adds it to found. It ignores a schedule that was tried before or has no prediction, for
// example because the spec refuses it.
func (s *search) try(fields []model.Setting) {
	c := Candidate{Settings: append([]model.Setting{{Value: model.Defaults}}, sorted(fields)...)}
	if s.tried[c.Name()] {
		return
	}
	s.tried[c.Name()] = true
	p, _, err := model.LoadFile(s.spec, s.params, c.Settings...)
	if err != nil {
		return
	}
	lowered, err := lowering.Lower(p, lowering.Options{Machine: s.machine})
	if err != nil {
		return
	}
	prediction, err := cost.Predict(lowered.Programs(), s.machine)
	if err != nil || prediction == nil {
		return
	}
	c.Predicted = prediction.Total
	s.found = append(s.found, c)
}

func sorted(fields []model.Setting) []model.Setting {
	return slices.SortedFunc(slices.Values(fields), func(a, b model.Setting) int { return cmp.Compare(a.Path, b.Path) })
}

// fixed lists fields that neighbours does not change.
var fixed = []string{schedule.Preset, "transport", "nodes", "buffers", "kernels"}

// neighbours returns schedules that differ from settings in one field. A field that is absent has its default.
func neighbours(settings []model.Setting, ranks int) [][]model.Setting {
	own := map[string]string{}
	for _, s := range settings {
		if s.Path != "" {
			own[s.Path] = s.Value
		}
	}
	var list [][]model.Setting
	for i := range schedule.Fields {
		f := &schedule.Fields[i]
		if f.Reference != "" || slices.Contains(fixed, f.Name) {
			continue
		}
		path := f.Name
		if f.Scope == schedule.Communication {
			path = schedule.Path(schedule.All, f.Name)
		}
		for _, value := range append(Values(f, ranks), "") {
			other := maps.Clone(own)
			if other[path] = value; value == "" || value == f.Default {
				delete(other, path)
			}
			if maps.Equal(other, own) {
				continue
			}
			var next []model.Setting
			for path, value := range other {
				next = append(next, model.Setting{Path: path, Value: value})
			}
			list = append(list, next)
		}
	}
	return list
}

// Values returns the values to try for a field: its named values and, if it takes numbers, small numbers and the
// number of ranks, within its bounds.
func Values(f *schedule.Field, ranks int) []string {
	var list []string
	for _, v := range f.Values {
		list = append(list, v.Name)
	}
	for _, n := range []int64{0, 1, 2, 4, int64(ranks)} {
		if text := strconv.FormatInt(n, 10); f.High > 0 && n >= f.Low && n <= f.High && !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}
