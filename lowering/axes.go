package lowering

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/schedules"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// Axes returns the axes of each tensor, by name, after the passes up to propagate-shardings, which choose the axes that
// the spec leaves open. The result includes tensors that these passes add. Axes disables assign-placements, which adds
// copies of tensors with other axes, and serialize-single-ranks, so that declared axes have the
// kinds that the spec gives them, also on one rank. With preset: eager, Stream axes are serial nevertheless.
func Axes(p *model.Pipeline) (map[string][]domain.Axis, error) {
	program, err := Build(p)
	if err != nil {
		return nil, err
	}
	last := slices.IndexFunc(Passes, func(p Pass) bool { return p.Name == "propagate-shardings" })
	if err := Run(program, Passes[:last+1], Options{Disable: []string{schedules.Placing, "serialize-single-ranks"}}); err != nil {
		return nil, err
	}
	axes := make(map[string][]domain.Axis, len(program.Tensors))
	for _, t := range program.Tensors {
		axes[t.Name] = t.Axes
	}
	return axes, nil
}
