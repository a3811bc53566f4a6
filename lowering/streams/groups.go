package streams

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/shard"
	"github.com/hirgen/hirgen/model/domain"
)

// group is a sequence of steps: either one pipeline, or one statement outside of pipelines.
type group struct {
	axis   *domain.Axis // the axis along which the pipeline runs; nil outside of pipelines
	cut    cut          // how its slices are combined or split into GEMMs
	steps  []step
	orders map[order]bool              // the orders of the steps
	makes  map[*hostir.Tensor]bool     // results of the steps
	sums   map[*hostir.Tensor]stepKind // operand of a sum over ranks -> how the ranks sum it
	at     int                         // position among the groups while these are collected; only its order counts
	number int
	names  []string // result of loopOf; valid while named is the number of steps
	named  int
	chosen map[string]string      // structural field of the schedule -> its value for the communications in names; valid as long as names is
	last   map[*hostir.Tensor]int // tensor -> number of the last group that reads it
}

func newGroup(axis *domain.Axis, steps ...step) *group {
	g := &group{axis: axis, orders: map[order]bool{}, makes: map[*hostir.Tensor]bool{}, sums: map[*hostir.Tensor]stepKind{}}
	for _, st := range steps {
		g.add(st)
	}
	return g
}

func (g *group) pipelined() bool { return g.axis != nil }

// exchanges reports whether the ranks exchange slices from rank to rank in the pipeline.
func (g *group) exchanges() bool {
	return g.any(func(o order) bool { return o.kind != onSlices })
}

// computes reports whether the pipeline has a step other than exchanges of slices.
func (g *group) computes() bool {
	return g.any(func(o order) bool { return o.kind == onSlices })
}

// isRing reports whether the ranks exchange slices along a ring. The iterations of the loop then run in order, on the
// caller's stream.
func (g *group) isRing() bool {
	return g.any(func(o order) bool { return o.kind.alongRing() })
}

// any reports whether is returns true for the order of some step.
func (g *group) any(is func(order) bool) bool {
	for o := range g.orders {
		if is(o) {
			return true
		}
	}
	return false
}

// atOnce reports whether a single GEMM computes all slices. The loops then only contain transfers of the slices, and
// the rest runs once.
func (g *group) atOnce() bool { return g.cut.width > 1 && g.cut.width == g.axis.Size }

// keepsView reports whether the result of a step stays a view. The statement may not be a Set, and only this pipeline
// may use the result. The operand of a sum along a ring needs a buffer, because sums overwrite it. So do parts of a sum
// that are computed together but sent one by one.
func (g *group) keepsView(st step) bool {
	_, isSet := st.stmt.(*hostir.Set)
	out := hostir.Result(st.stmt)
	sum := g.sums[out]
	return !isSet && g.last[out] <= g.number && sum != sumAlongRing && (sum != toRankAtDistance || g.cut.width <= 1)
}

// grouping assigns statements to pipelines.
type grouping struct {
	groups []*group
	open   map[int]*group            // chain of a step -> the last pipeline of the chain
	latest *group                    // the pipeline that was added last
	made   map[*hostir.Tensor]*group // result -> its group
	last   map[*hostir.Tensor]int
}

// order describes in which order a step goes through the slices. The steps of one pipeline have few different orders.
type order struct {
	mesh  *domain.Mesh
	along string   // step.along
	kind  stepKind // the kind of a step that exchanges slices; onSlices for all other steps
	team  string   // the result of step.team
}

// order returns the order in which a step goes through the slices.
func (st step) order() order {
	o := order{hostir.Result(st.stmt).Mesh, st.along, onSlices, st.team()}
	if st.exchanges() {
		o.kind = st.kind
	}
	return o
}

// team returns the mesh axis whose ranks together run a collective on one slice in a step. It is "*" if they are not
// the ranks along one axis. It is empty if each rank works alone, or if the step exchanges slices.
func (st step) team() string {
	if st.exchanges() || st.axis == nil || !shard.Reshards(st.stmt) {
		return ""
	}
	m := shard.Describe(st.stmt)
	if !shard.SameMesh(m.In, m.Out) || len(m.Shifts) != 1 {
		return "*"
	}
	return m.Shifts[0].Mesh
}

// parts reports whether ranks of the collective could be at different slices in the same iteration, if the order of
// slices depended on the coordinate along the given mesh axis. With team "*" this is so for every axis.
func (o order) parts(along string) bool {
	return along != "" && (o.team == along || o.team == "*")
}

// fits reports whether a step of this order and a step of the other order can go through the slices in one loop.
func (o order) fits(other order) bool {
	ring := o.kind.alongRing() || other.kind.alongRing()
	if ring && o.kind != onSlices && other.kind != onSlices && o.kind != other.kind {
		return false // a ring gather begins with the local shard, a ring sum ends with it, and exchanges at a distance send to any rank
	}
	if o.along == "" && other.along == "" {
		return true
	}
	if o.parts(other.along) || other.parts(o.along) {
		return false
	}
	return o.mesh.Same(other.mesh) && (o.along == "" || other.along == "" || o.along == other.along)
}

// takes reports whether a step can join the group: its order fits the orders of all steps.
func (g *group) takes(st step) bool {
	return !g.any(func(o order) bool { return !o.fits(st.order()) })
}

// add appends a step.
func (g *group) add(st step) {
	g.steps = append(g.steps, st)
	g.orders[st.order()] = true
	lists.Mark(g.makes, hostir.Defs(st.stmt))
	if st.kind == sumAlongRing || st.kind == toRankAtDistance {
		g.sums[hostir.Uses(st.stmt)[0]] = st.kind
	}
}

// orderSteps sets along of each step, the mesh axis whose coordinate decides the order of slices. For a step that
// exchanges slices, it is the axis of the ranks that exchange. The steps that compute the slices to send use the same
// axis, unless their own collective forbids that (see parts).
func orderSteps(steps []step) {
	wanted := map[*hostir.Tensor]string{}
	for i := range slices.Backward(steps) {
		st := &steps[i]
		switch {
		case st.exchanges():
			st.along = shard.Describe(st.stmt).Shifts[0].Mesh
		case st.axis != nil && !st.order().parts(wanted[hostir.Result(st.stmt)]):
			st.along = wanted[hostir.Result(st.stmt)]
		}
		if st.along == "" || st.kind == fromRankAtDistance || st.kind == toEachRank || st.kind == gatherAlongRing {
			continue
		}
		for _, t := range hostir.Uses(st.stmt) {
			wanted[t] = st.along
		}
	}
}

// group divides the statements into pipelines. A statement joins the last pipeline of its chain (see chains) if it has
// the same number of slices in a compatible order. It has to read the results of that pipeline slice by slice, and may
// not read a result of a statement after the pipeline. A statement that belongs to no pipeline and directly follows one
// moves before that pipeline, unless the statement reads a result of the pipeline.
func (l *streamLowering) group(body []hostir.Stmt) []*group {
	g := &grouping{open: map[int]*group{}, made: map[*hostir.Tensor]*group{}, last: map[*hostir.Tensor]int{}}
	steps := lists.Map(body, l.classify)
	orderSteps(steps)
	chains(steps)
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
	open, into := g.openFor(st), newGroup(st.axis)
	added := []step{st}
	if open != nil && st.kind == sumAlongRing && !open.takes(st) {
		added = append(g.partsOf(st, open), st) // the parts are then sent while later parts are computed
	}
	last := len(g.groups) - 1
	into.at = 2 * len(g.groups)
	switch {
	case open != nil && st.axis != nil && open.axis.Size == st.axis.Size && open.takes(st) && g.slicewise(st, open) &&
		!g.needsAfter(st.stmt, open):
		into, g.open[st.chain] = open, open
		g.moveViews(st.stmt, open)
	case last >= 0 && g.groups[last].pipelined() && st.axis == nil && !g.needs(st.stmt, g.groups[last]):
		into.at = g.groups[last].at - 1
		g.groups = slices.Insert(g.groups, last, into)
	default:
		g.groups = append(g.groups, into)
		if into.pipelined() {
			g.open[st.chain], g.latest = into, into
		}
	}
	for _, one := range added {
		into.add(one)
		for _, t := range hostir.Defs(one.stmt) {
			g.made[t] = into
		}
	}
}

// partsOf removes the last step of the open pipeline and returns it, if it computes the operand of the sum st and can
// go through the slices in the same order. Otherwise it returns nil, also if the pipeline has no other step.
func (g *grouping) partsOf(st step, open *group) []step {
	last := len(open.steps) - 1
	parts := hostir.Result(open.steps[last].stmt)
	made := open.steps[last]
	if last == 0 || parts != hostir.Uses(st.stmt)[0] || made.exchanges() || !made.order().fits(st.order()) {
		return nil
	}
	rest := newGroup(open.axis, open.steps[:last]...)
	rest.at = open.at
	*open = *rest
	return []step{made}
}

// needs reports whether a statement reads a result of a group.
func (g *grouping) needs(s hostir.Stmt, of *group) bool {
	return slices.ContainsFunc(hostir.Uses(s), func(t *hostir.Tensor) bool { return g.made[t] == of })
}

// slicewise reports whether a step reads each result of a group that is its operand slice by slice.
func (g *grouping) slicewise(st step, of *group) bool {
	rows := hostir.AxisMap(st.stmt)
	for k, t := range hostir.Uses(st.stmt) {
		if i := slices.Index(rows[k], st.loop); g.made[t] == of && (i < 0 || i != hostir.StreamAxis(t)) {
			return false
		}
	}
	return true
}
