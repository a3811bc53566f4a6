package soak

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/schedule"
)

// schedule sets the fields that the kind of spec needs, if there are any. Otherwise it sets random fields and values
// from the table of the loader. With none, it sets no field, or only the preset auto. It sets fields of communications
// for all tensors, or sometimes for one.
func (g *generator) schedule(none bool) {
	g.spec.Schedule = nil
	if g.fields != nil {
		g.spec.Schedule = slices.Clone(g.fields)
		g.fitting()
		return
	}
	if none {
		if g.chance(0.15) { // the preset of a spec without a schedule
			g.spec.Schedule = []model.Setting{{Path: schedule.Preset, Value: schedule.Auto}}
		}
		return
	}
	share := pick(g, 0.1, 0.3, 0.6)
	for _, f := range schedule.Fields {
		often := f.Name == schedule.Pipeline && g.chance(0.5) || f.Name == schedule.Reshard && g.chance(0.4) || f.Name == schedule.Via &&
			g.chance(0.4)
		if g.chance(share) || often {
			g.choose(f, g.of(f))
		}
	}
	if g.chance(0.85) {
		g.fitting()
	}
}

// of chooses what a field applies to: all tensors, or one tensor of an operation. It returns "" for a field of the
// program.
func (g *generator) of(f schedule.Field) string {
	switch {
	case f.Scope == schedule.Program:
		return ""
	case g.chance(0.8) || len(g.spec.Ops) == 0:
		return schedule.All
	}
	op := g.spec.Ops[g.IntN(len(g.spec.Ops))]
	return pick(g, append(slices.Clone(op.In), op.Out)...)
}

// choose adds a field that applies to the tensors `of` (see generator.of), with a random value that is sometimes invalid.
// If the field is the preset, choose often adds nothing.
func (g *generator) choose(f schedule.Field, of string) {
	var value string
	switch {
	case f.IsNumber() && g.chance(0.01):
		value = strconv.FormatInt(f.High+1, 10)
	case f.IsNumber() && (f.Values == nil || g.chance(0.5)):
		small := []int64{f.Low, f.Low + 1, 2, 3, 4, 8}
		for _, a := range g.spec.World.Axes {
			small = append(small, a.Size, a.Size, 2*a.Size)
		}
		value = strconv.FormatInt(max(f.Low, pick(g, small...)), 10)
	case f.MeshAxis:
		value = pick(g, append(g.worldAxes(), "z")...)
	case f.Name == schedule.Preset && g.chance(0.6):
		return
	default:
		value = pick(g, f.ValueNames()...)
	}
	g.spec.Schedule = append(g.spec.Schedule, model.Setting{Path: schedule.Path(of, f.Name), Value: value})
}

func (g *generator) worldAxes() []string {
	var names []string
	for _, a := range g.spec.World.Axes {
		names = append(names, a.Name)
	}
	return names
}

// fitting removes refused fields of the schedule until the spec accepts the rest, or no more errors name a field.
func (g *generator) fitting() {
	for range schedule.Fields {
		errors, ok := diag.Diagnostics(refusal(g.spec))
		if !ok {
			return
		}
		before := len(g.spec.Schedule)
		for _, d := range errors.Items {
			if path, _, found := strings.Cut(strings.TrimPrefix(d.Message, "schedule."), ":"); found && d.Code == diag.BadSchedule {
				g.unset(path)
				g.spec.Schedule = slices.DeleteFunc(g.spec.Schedule, func(s model.Setting) bool { return strings.HasPrefix(s.Path, path+".") })
			}
		}
		if len(g.spec.Schedule) == before {
			return
		}
	}
}

// refusal returns the error of loading and lowering a spec. It returns nil for a panic, which Examine reports.
func refusal(s Spec) (err error) {
	defer func() {
		if recover() != nil {
			err = nil
		}
	}()
	p, err := model.Load("spec.yaml", []byte(s.Text()), nil)
	if err == nil {
		_, err = lowering.Lower(p, lowering.Options{})
	}
	return err
}

func (g *generator) chosen(path string) string {
	for _, f := range g.spec.Schedule {
		if f.Path == path {
			return f.Value
		}
	}
	return ""
}

func (g *generator) unset(path string) {
	g.spec.Schedule = slices.DeleteFunc(g.spec.Schedule, func(f model.Setting) bool { return f.Path == path })
}
