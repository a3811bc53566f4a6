package ranks

import (
	"testing"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// TestAlong compares the ranks that After and Before lead to with the teams and coordinates of the mesh.
func TestAlong(t *testing.T) {
	for _, c := range []struct {
		extents []int64
		ranks   []int // nil: 0, 1, 2, ...
	}{
		{[]int64{4}, nil}, {[]int64{2, 3}, nil}, {[]int64{3, 2}, nil}, {[]int64{2, 3, 4}, nil}, {[]int64{1, 3}, nil}, {[]int64{3, 1}, nil},
		{[]int64{2}, []int{2, 3}}, {[]int64{3}, []int{1, 3, 5}}, {[]int64{2, 2}, []int{1, 2, 5, 6}}, {[]int64{2, 2}, []int{0, 4, 1, 5}},
		{[]int64{2, 3}, []int{3, 5, 7, 23, 25, 27}}, {[]int64{2, 1, 2}, []int{2, 3, 8, 9}},
		{[]int64{3}, []int{3, 0, 1}}, {[]int64{2, 2}, []int{3, 1, 2, 0}}, {[]int64{2, 2}, []int{1, 3, 4, 6}},
		{[]int64{2, 3}, []int{0, 1, 2, 3, 4, 6}},
	} {
		mesh := &domain.Mesh{Name: "some", Ranks: c.ranks}
		size := 1
		for i, e := range c.extents {
			mesh.Axes = append(mesh.Axes, domain.MeshAxis{Name: "xyz"[i : i+1], Extent: domain.Extent{Size: e}})
			size *= int(e)
		}
		for r := 0; c.ranks == nil && r < size; r++ {
			mesh.Ranks = append(mesh.Ranks, r)
		}
		for _, axis := range mesh.Axes {
			for _, rank := range mesh.Ranks {
				team := mesh.Team(rank, axis.Name)
				place := mesh.Coordinate(rank, axis.Name)
				for s := range team {
					if got := evalAlong(t, mesh, axis.Name, rank, s, (*Axis).After); got != team[(place+s)%len(team)] {
						t.Errorf("mesh %v, axis %s, rank %d: %d places further on is rank %d, not %d", c, axis.Name, rank, s, team[(place+s)%len(team)], got)
					}
					back := (place + len(team) - s) % len(team)
					if got := evalAlong(t, mesh, axis.Name, rank, s, (*Axis).Before); got != team[back] {
						t.Errorf("mesh %v, axis %s, rank %d: %d ranks back is rank %d, not %d", c, axis.Name, rank, s, team[back], got)
					}
				}
			}
		}
	}
}

func evalAlong(t *testing.T, mesh *domain.Mesh, axis string, rank, s int, other func(*Axis, Offset) expr.Expr) int {
	t.Helper()
	r := Along(mesh, axis)
	value, err := expr.Eval(r.Rank(other(r, Offset{Block: expr.Var("s")})), func(name string) (int64, bool) {
		return map[string]int64{"rank": int64(rank), "s": int64(s)}[name], true
	})
	if err != nil {
		t.Fatal(err)
	}
	return int(value)
}
