package lowering

import (
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// Axes gives, by name, how each tensor of a pipeline lies: those that the spec leaves open follow their
// neighbours, as propagate-shardings says.
func Axes(p *model.Pipeline) (map[string][]domain.Axis, error) {
	program, err := Build(p)
	if err != nil {
		return nil, err
	}
	for _, pass := range Passes {
		if err := runOnVariants(pass, program); err != nil {
			return nil, err
		}
		if pass.Name == "propagate-shardings" {
			break
		}
	}
	axes := make(map[string][]domain.Axis, len(program.Tensors))
	for _, t := range program.Tensors {
		axes[t.Name] = t.Axes
	}
	return axes, nil
}
