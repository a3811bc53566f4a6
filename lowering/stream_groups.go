package lowering

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// group is a run of steps: one pipeline, or one statement outside of any.
type group struct {
	axis   *domain.Axis // the axis that the pipeline runs along; nil outside of pipelines
	cut    cut          // how its slices become products
	steps  []step
	number int
	last   map[*hostir.Tensor]int // tensor -> number of the last group that uses it
}

func (g *group) pipelined() bool { return g.axis != nil }

// exchanges reports whether the ranks exchange slices from rank to rank.
func (g *group) exchanges() bool { return slices.ContainsFunc(g.steps, step.atDistance) || g.isRing() }

// isRing reports whether they do so along a ring: then steps are in order, on the caller's stream.
func (g *group) isRing() bool { return slices.ContainsFunc(g.steps, step.alongRing) }

// atOnce reports whether all slices make one product: then the loop is one over their
// transfers, and the work is no pipeline.
func (g *group) atOnce() bool { return g.cut.width > 1 && g.cut.width == g.axis.Extent.Size }

// keepsView reports whether the result of a step stays a view: of each slice, used in
// this pipeline alone.
func (g *group) keepsView(st step) bool {
	_, isSet := st.stmt.(*hostir.Set)
	return !isSet && g.last[hostir.Result(st.stmt)] <= g.number
}

// grouping cuts statements into pipelines.
type grouping struct {
	groups []*group
	made   map[*hostir.Tensor]*group // result -> its group
	last   map[*hostir.Tensor]int
}

// group cuts the statements into pipelines. A statement joins the pipeline before it when
// it steps along the same number of slices and takes what that pipeline makes slice by
// slice. One that is in no pipeline and needs nothing of the last one moves in front of
// it, so that it does not end it.
func (l *streamLowering) group(body []hostir.Stmt) []*group {
	g := &grouping{made: map[*hostir.Tensor]*group{}, last: map[*hostir.Tensor]int{}}
	for _, s := range body {
		g.add(l.classify(s))
	}
	for i, gr := range g.groups {
		gr.number, gr.last = i, g.last
	}
	for i, gr := range g.groups {
		for _, st := range gr.steps {
			for _, t := range hostir.Uses(st.stmt) {
				g.last[t] = i
			}
		}
	}
	return g.groups
}

func (g *grouping) add(st step) {
	var open *group
	if n := len(g.groups); n > 0 && g.groups[n-1].pipelined() {
		open = g.groups[n-1]
	}
	into := &group{axis: st.axis}
	switch {
	case open != nil && st.axis != nil && open.axis.Extent.Size == st.axis.Extent.Size && g.slicewise(st, open):
		into = open
	case open != nil && st.axis == nil && !g.needs(st.stmt, open):
		g.groups = slices.Insert(g.groups, len(g.groups)-1, into)
	default:
		g.groups = append(g.groups, into)
	}
	into.steps = append(into.steps, st)
	g.made[hostir.Result(st.stmt)] = into
}

// needs reports whether a statement takes something that a group makes.
func (g *grouping) needs(s hostir.Stmt, of *group) bool {
	return slices.ContainsFunc(hostir.Uses(s), func(t *hostir.Tensor) bool { return g.made[t] == of })
}

// slicewise reports whether a step takes every operand that a group makes one slice at
// a time.
func (g *grouping) slicewise(st step, of *group) bool {
	rows := hostir.AxisMap(st.stmt)
	for k, t := range hostir.Uses(st.stmt) {
		if i := slices.Index(rows[k], st.loop); g.made[t] == of && (i < 0 || i != streamAxis(t)) {
			return false
		}
	}
	return true
}
