package soak

import (
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// schedule chooses fields of the schedule and their values, from the table that the loader has:
// all of them, or none to many.
func (g *generator) schedule(none bool) {
	g.spec.Schedule = nil
	if none {
		return
	}
	share := pick(g, 0.1, 0.3, 0.6)
	for _, f := range domain.ScheduleFields {
		if !g.chance(share) && !(f.Name == "pipeline" && g.chance(0.5)) && !(f.Name == "reshard" && g.chance(0.4)) {
			continue
		}
		if value, ok := g.choice(f); ok {
			g.spec.Schedule = append(g.spec.Schedule, model.Setting{Name: f.Name, Value: value})
		}
	}
	if g.chance(0.85) {
		g.fitting()
	}
}

// choice chooses a value of a field; seldom one that it cannot have.
func (g *generator) choice(f domain.ScheduleField) (string, bool) {
	switch {
	case f.IsNumber() && g.chance(0.01):
		return strconv.FormatInt(f.High+1, 10), true
	case f.IsNumber():
		small := []int64{f.Low, f.Low + 1, 2, 3, 4, 8}
		for _, a := range g.spec.World.Axes {
			small = append(small, a.Size, a.Size, 2*a.Size)
		}
		return strconv.FormatInt(max(f.Low, pick(g, small...)), 10), true
	case f.Name == "hosts" && g.chance(0.95):
		return pick(g, append(g.worldAxes(), f.Values[0])...), true
	case f.Name == "auto":
		return "true", g.chance(0.2)
	}
	return pick(g, f.Values...), true
}

func (g *generator) worldAxes() []string {
	var names []string
	for _, a := range g.spec.World.Axes {
		names = append(names, a.Name)
	}
	return names
}

// fitting drops what the documentation says cannot be together, or belongs to another pipeline.
func (g *generator) fitting() {
	pipeline, sums := g.chosen("pipeline"), false
	for _, op := range g.spec.Ops {
		sums = sums || op.Fn == "sum"
	}
	if pipeline != "p2p" || !sums {
		g.unset("pieces")
	}
	if pipeline != "p2p" {
		g.unset("chunks")
	}
	if g.chosen("sums") == "direct" {
		transport := g.chosen("transport")
		if pipeline != "p2p" || !sums || transport != "ipc-get" && transport != "auto" {
			g.unset("sums")
		} else {
			g.unset("pieces", "hosts", "chunks")
		}
	}
	if g.chosen("order") == "pairwise" && pipeline != "p2p" {
		g.unset("order")
	}
	if g.chosen("sums") == "folded" && pipeline != "ring" {
		g.unset("sums")
	}
}

func (g *generator) chosen(field string) string {
	for _, f := range g.spec.Schedule {
		if f.Name == field {
			return f.Value
		}
	}
	return ""
}

func (g *generator) unset(fields ...string) {
	g.spec.Schedule = slices.DeleteFunc(g.spec.Schedule, func(f model.Setting) bool { return slices.Contains(fields, f.Name) })
}
