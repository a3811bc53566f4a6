package shard

import (
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// MeshOf returns the mesh of some ranks with one axis, x. It adds the mesh to the program if there is none.
func MeshOf(p *hostir.Program, names *hostir.Namer, ranks []int) *domain.Mesh {
	for _, m := range p.Meshes {
		if len(m.Axes) == 1 && m.Axes[0].Name == "x" && slices.Equal(m.Ranks, ranks) {
			return m
		}
	}
	m := &domain.Mesh{
		Name: names.Fresh(ranksName(ranks)), Ranks: ranks,
		Axes: []domain.MeshAxis{{Name: "x", Extent: domain.Extent{Size: int64(len(ranks))}}},
	}
	p.Meshes = append(p.Meshes, m)
	return m
}

// SameAxes reports whether two meshes have axes with the same names and sizes, in the same order.
func SameAxes(a, b *domain.Mesh) bool {
	return slices.EqualFunc(a.Axes, b.Axes, func(x, y domain.MeshAxis) bool {
		return x.Name == y.Name && x.Size == y.Size
	})
}

// ranksName names a mesh that is not in the spec: "ranks_0_2", or "ranks_0_and_more" for more than four ranks.
func ranksName(ranks []int) string {
	if len(ranks) > 4 {
		return "ranks_" + strconv.Itoa(ranks[0]) + "_and_more"
	}
	name := "ranks"
	for _, r := range ranks {
		name += "_" + strconv.Itoa(r)
	}
	return name
}

// CommonRank returns the first rank of a that is also in b, or false if there is none.
func CommonRank(a, b *domain.Mesh) (int, bool) {
	for _, r := range a.Ranks {
		if slices.Contains(b.Ranks, r) {
			return r, true
		}
	}
	return 0, false
}
