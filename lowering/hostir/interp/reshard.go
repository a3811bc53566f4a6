package interp

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// crosses reports whether a statement that computes takes elements of other ranks, or has tensors on
// several meshes. convert-to-communications replaces such statements.
func crosses(s hostir.Stmt) bool { return !onOneMesh(s) || len(crossed(s)) > 0 }

// onOneMesh reports whether operands and results are on the same mesh, ignoring tensors without a mesh.
func onOneMesh(s hostir.Stmt) bool {
	out := hostir.Result(s)
	return !slices.ContainsFunc(slices.Concat(hostir.Uses(s), hostir.Defs(s)), func(t *hostir.Tensor) bool {
		return t.Mesh != nil && out.Mesh != nil && !t.Mesh.Same(out.Mesh)
	})
}

// crossed returns the mesh axes along which a statement takes elements of other ranks.
func crossed(s hostir.Stmt) map[string]bool {
	out := hostir.Result(s)
	covered, along := make([]bool, len(out.Axes)), map[string]bool{}
	for i, row := range hostir.AxisMap(s) {
		t := hostir.Uses(s)[i]
		for axis, j := range row {
			a := t.Axes[axis]
			switch {
			case j == hostir.Unmapped:
				along[partedOver(a)] = true
			case partedOver(a) != partedOver(out.Axes[j]) && a.Size > 1:
				along[partedOver(a)], along[partedOver(out.Axes[j])] = true, true
			default:
				covered[j] = true
			}
		}
	}
	for j, a := range out.Axes {
		if !covered[j] && len(hostir.Uses(s)) > 0 {
			along[partedOver(a)] = true
		}
	}
	for i, row := range hostir.FurtherMaps(s) {
		for axis, a := range hostir.Defs(s)[i+1].Axes {
			if j := row[axis]; j == hostir.Unmapped || partedOver(a) != partedOver(out.Axes[j]) {
				along[partedOver(a)] = true
			}
			if j := row[axis]; j != hostir.Unmapped && partedOver(a) != partedOver(out.Axes[j]) {
				along[partedOver(out.Axes[j])] = true
			}
		}
	}
	delete(along, "") // axes that are not split
	return along
}

// partedOver returns the mesh axis along which several ranks have parts of an axis, or "".
func partedOver(a domain.Axis) string {
	if a.Size == 1 {
		return "" // one rank has all of it
	}
	return hostir.SplitOver(a)
}

// together issues a statement that several ranks run together, in a meeting.
func (r *rank) together(s hostir.Stmt) error {
	out, team := hostir.Result(s), r.teamOf(s)
	if !slices.Contains(team, r.number) {
		return nil
	}
	in, err := r.operands(s)
	if err != nil {
		return err
	}
	if out.Role == hostir.View && out.Of == nil && r.views[out] == nil && r.holds(out) {
		r.views[out] = r.newBuffer(out)
	}
	results, err := r.results(s)
	if err != nil {
		return err
	}
	begin := r.issue(r.current, s, nil)
	m := r.join(&part{rank: r, stmt: s, key: "all of " + fmt.Sprint(team), team: team, in: in, out: results[0], more: results[1:], root: -1},
		r.current)
	m.task.Follow(begin)
	r.issue(r.current, s, nil, m.task)
	return nil
}

// teamOf lists the ranks that run a statement together with this rank. If all tensors of the statement are
// on one mesh, they are the ranks with the same coordinates as this rank along the mesh axes along which
// nothing moves. Other ranks may be at another slice of a pipeline. If there are several meshes, they are
// all ranks of these meshes.
func (r *rank) teamOf(s hostir.Stmt) []int {
	var team []int
	for _, t := range slices.Concat(hostir.Uses(s), hostir.Defs(s)) {
		mesh := t.Mesh
		if mesh == nil {
			mesh = r.machine.program.Meshes[0]
		}
		team = append(team, mesh.Ranks...)
	}
	slices.Sort(team)
	team = slices.Compact(team)
	if mesh := hostir.Result(s).Mesh; mesh != nil && onOneMesh(s) {
		along := crossed(s)
		team = slices.DeleteFunc(team, func(other int) bool {
			return slices.ContainsFunc(mesh.Axes, func(a domain.MeshAxis) bool {
				return !along[a.Name] && mesh.Coordinate(other, a.Name) != mesh.Coordinate(r.number, a.Name)
			})
		})
	}
	return team
}

// reshard assembles whole operands from the shards of the ranks that take part, runs the statement on them,
// and writes to each of these ranks its shards of the results. The shards of other ranks stay NaN in the
// whole operands. The written shards do not depend on them.
func reshard(s hostir.Stmt, parts []*part) error {
	whole := make([]*view, len(hostir.Uses(s)))
	for i, t := range hostir.Uses(s) {
		whole[i] = newBuffer(wholeTensor(t))
		for _, p := range parts {
			if p.in[i] != nil {
				window := share(whole[i], t, p.rank.number)
				walk(window.Size, [][]int64{window.Stride, p.in[i].Stride}, []int64{window.Offset, p.in[i].Offset},
					func(at []int64) { window.data[at[0]] = p.in[i].data[at[1]] })
			}
		}
	}
	var results []*view
	for _, t := range hostir.Defs(s) {
		results = append(results, newBuffer(wholeTensor(t)))
	}
	run, err := wholeKernel(s, results, whole)
	if err != nil {
		return parts[0].rank.fail(s, "%v", err)
	}
	if err := run(); err != nil {
		return err
	}
	for _, p := range parts {
		for i, to := range append([]*view{p.out}, p.more...) {
			if to == nil {
				continue
			}
			window := share(results[i], hostir.Defs(s)[i], p.rank.number)
			walk(window.Size, [][]int64{window.Stride, to.Stride}, []int64{window.Offset, to.Offset},
				func(at []int64) { to.data[at[1]] = window.data[at[0]] })
		}
	}
	return nil
}

// wholeKernel returns a function that runs a statement on whole tensors.
func wholeKernel(s hostir.Stmt, results, in []*view) (func() error, error) {
	switch s := s.(type) {
	case *hostir.Attention:
		return attention(s, s.Shape(true, nil), results, in), nil
	case *hostir.Fused: // the tensors give the number of columns
		whole := *s
		whole.In, whole.Out = lists.Map(s.In, wholeTensor), lists.Map(s.Out, wholeTensor)
		return kernel(&whole, results, in)
	}
	return kernel(s, results, in)
}

// wholeTensor returns a tensor with the elements of t on all ranks.
func wholeTensor(t *hostir.Tensor) *hostir.Tensor {
	all := *t
	all.Axes = slices.Clone(t.Axes)
	for i := range all.Axes {
		if all.Axes[i].Kind == domain.Device {
			all.Axes[i].Kind = domain.Serial
		}
	}
	return &all
}

// share returns a rank's window of whole, which has the elements of t on all ranks.
func share(whole *view, t *hostir.Tensor, rank int) *view {
	w := &view{data: whole.data, Window: whole.Window}
	w.Size = slices.Clone(whole.Size)
	for i, a := range t.Axes {
		if a.Kind == domain.Device {
			w.Offset += int64(t.Mesh.Coordinate(rank, a.Mesh)) * w.Stride[i]
			w.Size[i] = 1
		}
	}
	return w
}
