package model

import "slices"

// RanksParam returns the parameter that is the extent of the only axis of the first mesh. Changing it changes the
// number of ranks. ok is false if there is no such parameter.
func (p *Pipeline) RanksParam() (name string, ok bool) {
	axes := p.Meshes[0].Axes
	if len(axes) != 1 {
		return "", false
	}
	name = axes[0].Text
	return name, slices.ContainsFunc(p.Params, func(param Param) bool { return param.Name == name })
}
