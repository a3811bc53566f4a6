package streams

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// light is the chain of all pipeline steps that are not connected to a GEMM.
const light = -1

// chains sets the chain of each step. Steps in pipelines that compute or read slices of the same tensor are in one
// chain. All chains without a GEMM become the chain light.
func chains(steps []step) {
	of := map[*hostir.Tensor]int{} // tensor -> a step that computes or reads its slices
	root := func(i int) int {
		for steps[i].chain != i {
			steps[i].chain = steps[steps[i].chain].chain
			i = steps[i].chain
		}
		return i
	}
	for i := range steps {
		steps[i].chain = i
		for _, t := range steps[i].sliced() {
			if other, known := of[t]; known {
				steps[root(i)].chain = root(other)
			}
			of[t] = i
		}
	}
	heavy := map[int]bool{}
	for i, st := range steps {
		steps[i].chain = root(i)
		heavy[root(i)] = heavy[root(i)] || hostir.IsGEMM(st.stmt)
	}
	for i, st := range steps {
		if !heavy[st.chain] {
			steps[i].chain = light
		}
	}
}

// sliced lists the tensors that a step in a pipeline computes or reads slice by slice.
func (st step) sliced() []*hostir.Tensor {
	if st.axis == nil {
		return nil
	}
	list, rows := slices.Clone(hostir.Defs(st.stmt)), hostir.AxisMap(st.stmt)
	for k, t := range hostir.Uses(st.stmt) {
		if i := slices.Index(rows[k], st.loop); hostir.StreamAxis(t) >= 0 || i >= 0 && t.Axes[i].Size > 1 {
			list = append(list, t)
		}
	}
	return list
}

// openFor returns the pipeline that a step may join: the last pipeline of its chain. A step of the chain light that
// reads no results may join the last pipeline of any chain.
func (g *grouping) openFor(st step) *group {
	if st.chain == light && !slices.ContainsFunc(hostir.Uses(st.stmt), func(t *hostir.Tensor) bool { return g.made[t] != nil }) {
		return g.latest
	}
	return g.open[st.chain]
}

// needsAfter reports whether a statement reads a result of a group after a pipeline, other than a view that can be
// moved before the pipeline.
func (g *grouping) needsAfter(s hostir.Stmt, pipeline *group) bool {
	return slices.ContainsFunc(hostir.Uses(s), func(t *hostir.Tensor) bool {
		of := g.made[t]
		if of == nil || of.at < pipeline.at || of == pipeline {
			return false
		}
		maker := of.steps[0].stmt
		return of.pipelined() || !madeView(maker) || g.needs(maker, pipeline) || g.needsAfter(maker, pipeline)
	})
}

// moveViews moves the views that a statement reads, if they come after a pipeline, directly before the pipeline.
func (g *grouping) moveViews(s hostir.Stmt, pipeline *group) {
	for _, t := range hostir.Uses(s) {
		of := g.made[t]
		if of == nil || of.at <= pipeline.at {
			continue
		}
		g.moveViews(of.steps[0].stmt, pipeline)
		at := slices.Index(g.groups, of)
		g.groups = slices.Delete(g.groups, at, at+1)
		g.groups = slices.Insert(g.groups, slices.Index(g.groups, pipeline), of)
		of.at = pipeline.at - 1
	}
}
