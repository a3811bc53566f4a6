package model

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// DeclaresMesh reports whether the source declares a mesh of all ranks.
func (p *Pipeline) DeclaresMesh() bool { return p.src.world != nil }

// RanksText returns the ranks of a named mesh as the source lists them: "[D..2*D-1]", or "" for 0, 1, 2, ...
func (p *Pipeline) RanksText(name string) string {
	for _, m := range p.src.meshes {
		if m.name.value == name && m.ranks != nil {
			return "[" + lists.Join(m.ranks, func(t text) string { return t.value }) + "]"
		}
	}
	return ""
}

// Warnings lists parts of the spec that are valid but probably a mistake. One is a named mesh of several ranks without
// tensors. The other is a declared world of several ranks if no tensor is split over it or is on another mesh.
func (p *Pipeline) Warnings() []diag.Note {
	var list []diag.Note
	split := func(a domain.Axis) bool { return a.Kind == domain.Device }
	for i, mesh := range p.Meshes {
		used := func(t *Tensor) bool { return t.Mesh == mesh }
		if i == 0 {
			used = func(t *Tensor) bool { return t.Mesh != mesh || slices.ContainsFunc(t.Axes, split) }
		}
		switch {
		case mesh.Size() == 1 || slices.ContainsFunc(p.Tensors, used):
		case i > 0:
			list = append(list, diag.Note{Pos: (&assembler{src: &p.src, p: p}).meshPos(i), Message: "no tensor is on mesh " + mesh.Name})
		case p.DeclaresMesh():
			list = append(list, diag.Note{Pos: p.src.world.pos, Message: "nothing is split over the mesh: each rank computes all of it"})
		}
	}
	return list
}
