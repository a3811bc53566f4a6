// Package bench measures combinations of specs, parameters and schedules on this machine. It emits and builds a program
// for each, keeps the programs of one problem ready, and times them in alternating rounds. The programs of a
// problem thus run at similar clocks and temperatures.
package bench

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model"
)

// A Sweep is a field with the values to try: a parameter of the spec, a field of the schedule, or "schedule" with
// presets.
type Sweep struct {
	Field  string
	Values []string
}

// Presets is the field of a sweep whose values replace the whole schedule.
const Presets = "schedule"

// ParseSweep reads FIELD=V1,V2. It returns an error if the field or a value is empty.
func ParseSweep(text string) (Sweep, error) {
	field, list, found := strings.Cut(text, "=")
	values := strings.Split(list, ",")
	if !found || field == "" || slices.Contains(values, "") {
		return Sweep{}, fmt.Errorf("%s: write FIELD=V1,V2, as in S=2,4,8 or all.via=nccl,ipc-get", text)
	}
	return Sweep{field, values}, nil
}

// A Case is one program: a spec with parameters and with fields that override its schedule.
type Case struct {
	Spec     string           `json:"spec"`
	Params   map[string]int64 `json:"set_params,omitempty"`
	Settings []model.Setting  `json:"-"`
	// Label distinguishes the case from others of its spec: "S=4 all.via=ipc-get", "baseline eager", or nothing.
	Label    string `json:"case"`
	Baseline bool   `json:"baseline,omitempty"`
	// Group names cases of one problem whose specs or parameters differ. It is "" if spec and parameters identify the
	// problem.
	Group string `json:"group,omitempty"`
}

// problem identifies the cases that are timed together and compared.
func (c Case) problem() string {
	if c.Group != "" {
		return c.Group
	}
	return strings.Join(append([]string{c.Spec}, c.params()...), " ")
}

// params returns the parameters that are set, as words.
func (c Case) params() []string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(c.Params)) {
		words = append(words, fmt.Sprintf("%s=%d", name, c.Params[name]))
	}
	return words
}

// folder returns a name for the emitted folder of the case: its group, the last two names of the path of its spec, its
// parameters and its label.
func (c Case) folder() string {
	words := []string{c.Group, filepath.Base(filepath.Dir(c.Spec)), filepath.Base(c.Spec)}
	words = append(append(words, c.params()...), c.Label)
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-=._", r) {
			return r
		}
		return '_'
	}, strings.Trim(strings.Join(words, "_"), "_"))
}

// Cases returns all combinations of a spec with the values of sweeps. For each combination of parameters it adds the
// spec under the preset baseline, unless baseline is empty. names are the spec's parameters: a sweep over any other
// field is a sweep over the schedule.
func Cases(spec string, names []string, params map[string]int64, settings []model.Setting,
	sweeps []Sweep, baseline string) ([]Case, error) {
	list := []Case{{Spec: spec, Params: params, Settings: settings}}
	for _, s := range sweeps {
		var next []Case
		for _, c := range list {
			for _, value := range s.Values {
				other, err := c.with(s.Field, value, slices.Contains(names, s.Field))
				if err != nil {
					return nil, err
				}
				next = append(next, other)
			}
		}
		list = next
	}
	if baseline == "" {
		return list, nil
	}
	var all []Case
	seen := map[string]bool{}
	for _, c := range list {
		if p := c.problem(); !seen[p] {
			seen[p] = true
			of := words(c.Params, sweeps)
			all = append(all, Case{Spec: spec, Params: c.Params, Settings: []model.Setting{{Value: baseline}},
				Label: strings.TrimSpace(strings.Join(of, " ") + " baseline " + baseline), Baseline: true})
		}
		all = append(all, c)
	}
	return all, nil
}

// with returns the case with one more field. It returns an error if the value of a parameter is not an integer.
func (c Case) with(field, value string, param bool) (Case, error) {
	c.Label = strings.TrimSpace(c.Label + " " + field + "=" + value)
	switch {
	case param:
		number, err := expr.Integer(value)
		if err != nil {
			return c, fmt.Errorf("%s=%s: %w", field, value, err)
		}
		c.Params = maps.Clone(c.Params)
		if c.Params == nil {
			c.Params = map[string]int64{}
		}
		c.Params[field] = number
	case field == Presets:
		c.Settings = append([]model.Setting{{Value: value}}, c.Settings...)
	default:
		c.Settings = append(slices.Clone(c.Settings), model.Setting{Path: field, Value: value})
	}
	return c, nil
}

// words returns "FIELD=VALUE" for each sweep over a parameter, as labels show them.
func words(params map[string]int64, sweeps []Sweep) []string {
	var list []string
	for _, s := range sweeps {
		if value, ok := params[s.Field]; ok {
			list = append(list, fmt.Sprintf("%s=%d", s.Field, value))
		}
	}
	return list
}
