package hostir

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/model/domain"
)

// crosses reports whether a statement that computes takes elements of other ranks, as
// statements do until communications are inserted.
func crosses(s Stmt) bool {
	out := Result(s)
	covered := make([]bool, len(out.Axes))
	for i, row := range AxisMap(s) {
		t := Uses(s)[i]
		if t.Mesh != nil && out.Mesh != nil && !t.Mesh.Same(out.Mesh) {
			return true
		}
		for axis, j := range row {
			a := t.Axes[axis]
			switch {
			case j == Unmapped && partedOver(a) != "":
				return true
			case j == Unmapped:
			case partedOver(a) != partedOver(out.Axes[j]) && a.Extent.Size > 1:
				return true
			default:
				covered[j] = true
			}
		}
	}
	for j, a := range out.Axes {
		if partedOver(a) != "" && !covered[j] {
			return true
		}
	}
	return false
}

// partedOver is the mesh axis along which several ranks have parts of an axis, or "".
func partedOver(a domain.Axis) string {
	if a.Extent.Size == 1 {
		return "" // one rank has all of it
	}
	return splitOver(a)
}

// team lists the ranks that do a statement at one time: those of its meshes. On one mesh, ranks at
// different places along an axis that splits none of its tensors work apart, as those of a
// communication do: pipelines may be at different slices there.
func (r *rank) team(s Stmt) []int {
	var team []int
	var first *domain.Mesh
	split, apart := map[string]bool{}, false
	for _, t := range append(Uses(s), Result(s)) {
		mesh := t.Mesh
		if mesh == nil {
			mesh = r.machine.program.Meshes[0]
		}
		if first == nil {
			first = mesh
		}
		apart = apart || !mesh.Same(first)
		team = append(team, mesh.Ranks...)
		for _, a := range t.Axes {
			split[splitOver(a)] = true
		}
	}
	slices.Sort(team)
	team = slices.Compact(team)
	if apart || !slices.Contains(team, r.number) {
		return team
	}
	return slices.DeleteFunc(team, func(rank int) bool {
		return slices.ContainsFunc(first.Axes, func(a domain.MeshAxis) bool {
			return !split[a.Name] && first.Coordinate(rank, a.Name) != first.Coordinate(r.number, a.Name)
		})
	})
}

// together issues a statement that all ranks of its team do at one time.
func (r *rank) together(s Stmt) error {
	out, team := Result(s), r.team(s)
	if !slices.Contains(team, r.number) {
		return nil
	}
	in, err := r.operands(s)
	if err != nil {
		return err
	}
	if out.Role == View && r.views[out] == nil && r.holds(out) {
		r.views[out] = newBuffer(out)
	}
	v, err := r.view(s, out)
	if err != nil {
		return err
	}
	begin := r.issue(r.current, s, nil)
	m := r.join(&part{rank: r, stmt: s, key: "all of " + fmt.Sprint(team), team: team, in: in, out: v, root: -1}, r.current)
	m.task.follow(begin)
	r.issue(r.current, s, nil, m.task)
	return nil
}

// reshard computes a statement on whole tensors, put together from all parts, and
// gives every rank its share of the result.
func reshard(s Stmt, parts []*part) error {
	whole := make([]*view, len(Uses(s)))
	for i, t := range Uses(s) {
		whole[i] = wholeView(t)
		for _, p := range parts {
			if p.in[i] != nil {
				window := share(whole[i], t, p.rank.number)
				walk(window.size, [][]int64{window.stride, p.in[i].stride}, []int64{window.offset, p.in[i].offset},
					func(at []int64) { window.data[at[0]] = p.in[i].data[at[1]] })
			}
		}
	}
	out := Result(s)
	result := wholeView(out)
	run, err := kernel(s, result, whole)
	if err != nil {
		return parts[0].rank.fail(s, "%v", err)
	}
	if err := run(); err != nil {
		return err
	}
	for _, p := range parts {
		if p.out != nil {
			window := share(result, out, p.rank.number)
			walk(window.size, [][]int64{window.stride, p.out.stride}, []int64{window.offset, p.out.offset},
				func(at []int64) { p.out.data[at[1]] = window.data[at[0]] })
		}
	}
	return nil
}

// wholeView is a buffer for all ranks' elements of t.
func wholeView(t *Tensor) *view {
	all := *t
	all.Axes = slices.Clone(t.Axes)
	for i := range all.Axes {
		if all.Axes[i].Kind == domain.Device {
			all.Axes[i].Kind = domain.Serial
		}
	}
	return newBuffer(&all)
}

// share is the window of a rank on the whole of t.
func share(whole *view, t *Tensor, rank int) *view {
	w := &view{data: whole.data, offset: whole.offset, size: slices.Clone(whole.size), stride: whole.stride}
	for i, a := range t.Axes {
		if a.Kind == domain.Device {
			w.offset += int64(t.Mesh.Coordinate(rank, a.Mesh)) * w.stride[i]
			w.size[i] = 1
		}
	}
	return w
}
