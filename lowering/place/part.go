package place

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// part is the part of a program that is on one mesh: the statements with all operands and results on it.
type part struct {
	mesh *domain.Mesh
	// foreign has the statements of other meshes, and of several: they stay. In a program of one mesh it is empty.
	foreign map[hostir.Stmt]bool
	// boundary has the tensors of foreign statements. They stay where the spec states, or whole.
	boundary map[*hostir.Tensor]bool
}

// partOf returns the part of a program on a mesh, or false if no statement is on it.
func partOf(p *hostir.Program, mesh *domain.Mesh) (part, bool) {
	if len(p.Meshes) == 1 {
		return part{mesh: mesh}, true
	}
	of, on := part{mesh, map[hostir.Stmt]bool{}, map[*hostir.Tensor]bool{}}, meshes(p)
	for _, s := range p.Body {
		tensors := hostir.Mentions(s)
		if slices.ContainsFunc(tensors, func(t *hostir.Tensor) bool { return !mesh.Same(on[t]) }) {
			of.foreign[s] = true
			lists.Mark(of.boundary, tensors)
		}
	}
	return of, len(of.foreign) < len(p.Body)
}

// meshes returns the mesh of each tensor. A tensor without one will be on the mesh of the first operand, as in pass
// propagate-shardings. A tensor without operands has no mesh.
func meshes(p *hostir.Program) map[*hostir.Tensor]*domain.Mesh {
	on := map[*hostir.Tensor]*domain.Mesh{}
	for _, t := range p.Tensors {
		on[t] = t.Mesh
	}
	for _, s := range p.Body {
		for _, t := range hostir.Defs(s) {
			if operands := hostir.Uses(s); on[t] == nil && len(operands) > 0 {
				on[t] = on[operands[0]]
			}
		}
	}
	return on
}
