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
	makes  map[*hostir.Tensor]bool // results of the steps
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
// this pipeline alone. Sums along a ring take the place of parts, which then need one, and
// parts that are made together are sent one by one.
func (g *group) keepsView(st step) bool {
	_, isSet := st.stmt.(*hostir.Set)
	out := hostir.Result(st.stmt)
	return !isSet && g.last[out] <= g.number && !slices.ContainsFunc(g.steps, func(other step) bool {
		return (other.kind == toNeighbour || other.kind == toRankAtDistance && g.cut.width > 1) && hostir.Uses(other.stmt)[0] == out
	})
}

// grouping cuts statements into pipelines.
type grouping struct {
	groups []*group
	made   map[*hostir.Tensor]*group // result -> its group
	last   map[*hostir.Tensor]int
}

// takes reports whether a step can go through the slices in the order of the group.
func (g *group) takes(st step) bool {
	mesh := hostir.Result(st.stmt).Mesh
	return !slices.ContainsFunc(g.steps, func(other step) bool {
		if st.alongRing() && other.alongRing() && st.kind != other.kind {
			return true // what is gathered begins with the own slice, and a sum ends with it
		}
		sameRanks := mesh.Same(hostir.Result(other.stmt).Mesh)
		return (st.along != "" || other.along != "") && !sameRanks ||
			st.along != "" && other.along != "" && st.along != other.along
	})
}

// orderSteps tells steps the mesh axis along which they go through the slices: each rank begins
// with its own slice where ranks exchange slices, and in the steps that make what they send on.
func orderSteps(steps []step) {
	wanted := map[*hostir.Tensor]string{}
	for i := range slices.Backward(steps) {
		st := &steps[i]
		switch {
		case st.exchanges():
			st.along = describe(st.stmt).shifts[0].mesh
		case st.axis != nil:
			st.along = wanted[hostir.Result(st.stmt)]
		}
		if st.along == "" || st.kind == fromRankAtDistance || st.kind == fromNeighbour {
			continue
		}
		for _, t := range hostir.Uses(st.stmt) {
			wanted[t] = st.along
		}
	}
}

// group cuts the statements into pipelines. A statement joins the pipeline before it when
// it steps along the same number of slices, in the same order, and takes what that pipeline
// makes slice by slice. One that is in no pipeline and needs nothing of the last one moves in front of
// it, so that it does not end it.
func (l *streamLowering) group(body []hostir.Stmt) []*group {
	g := &grouping{made: map[*hostir.Tensor]*group{}, last: map[*hostir.Tensor]int{}}
	steps := make([]step, len(body))
	for i, s := range body {
		steps[i] = l.classify(s)
	}
	orderSteps(steps)
	for _, st := range steps {
		g.add(st)
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
	into := &group{axis: st.axis, makes: map[*hostir.Tensor]bool{}}
	if open != nil && st.kind == toNeighbour && !open.takes(st) {
		into.steps = g.partsOf(st, open) // so that they are sent while they are made
	}
	switch {
	case open != nil && st.axis != nil && open.axis.Extent.Size == st.axis.Extent.Size && open.takes(st) && g.slicewise(st, open):
		into = open
	case open != nil && st.axis == nil && !g.needs(st.stmt, open):
		g.groups = slices.Insert(g.groups, len(g.groups)-1, into)
	default:
		g.groups = append(g.groups, into)
	}
	into.steps = append(into.steps, st)
	for _, made := range into.steps {
		into.makes[hostir.Result(made.stmt)] = true
		g.made[hostir.Result(made.stmt)] = into
	}
}

// partsOf takes the step that makes the parts of a sum out of the pipeline that it ends, if it
// is not all of it.
func (g *grouping) partsOf(st step, open *group) []step {
	last := len(open.steps) - 1
	parts := hostir.Result(open.steps[last].stmt)
	if last == 0 || parts != hostir.Uses(st.stmt)[0] || open.steps[last].exchanges() {
		return nil
	}
	made := open.steps[last:]
	open.steps = open.steps[:last]
	delete(open.makes, parts)
	return slices.Clone(made)
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
