package model

import "slices"

// RanksParam is the parameter that is the extent of the only axis of the first mesh: by it a pipeline is set to another number
// of ranks. ok is false where there is none.
func (p *Pipeline) RanksParam() (name string, ok bool) {
	axes := p.Meshes[0].Axes
	if len(axes) != 1 {
		return "", false
	}
	name = axes[0].Extent.Text
	return name, slices.ContainsFunc(p.Params, func(param Param) bool { return param.Name == name })
}
