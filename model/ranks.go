package model

import (
	"fmt"
	"slices"
)

// RanksParam returns the parameter that is the extent of the only axis of the first mesh. Changing it changes the
// number of ranks. If there is no such parameter, it returns an error with the reason.
func (p *Pipeline) RanksParam() (string, error) {
	mesh := p.Meshes[0]
	if len(mesh.Axes) != 1 {
		return "", fmt.Errorf("the mesh of %s has %d axes: set their extents with -p, and the number of ranks to their product", p.Name,
			len(mesh.Axes))
	}
	name := mesh.Axes[0].Text
	if !slices.ContainsFunc(p.Params, func(param Param) bool { return param.Name == name }) {
		return "", fmt.Errorf("the mesh of %s is of %d ranks, and no parameter is the extent of its only axis", p.Name, mesh.Size())
	}
	return name, nil
}
