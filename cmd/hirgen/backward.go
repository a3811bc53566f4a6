package main

import (
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/grad"
)

// backward returns the backward pass of a pipeline, with tensors distributed over the ranks as in the forward pass. It
// tries four forms, and takes the first that can be lowered. The first form has the Stream axes of the forward pass,
// and the second does without them. The third and the fourth form are the first and the second with declarations of the
// results of the backward pass. If all fail, it returns the first form, whose errors then show what to change.
func backward(p *model.Pipeline, o grad.Options) (*grad.Pass, error) {
	axes, err := lowering.Axes(p)
	if err != nil {
		return nil, err
	}
	o.Axes = axes
	var first *grad.Pass
	for form := range 4 {
		o.Plain, o.Declared = form&1 != 0, form&2 != 0
		pass, err := grad.Backward(p, o)
		if err != nil {
			return nil, err
		}
		if lowers(pass.Text) {
			return pass, nil
		}
		if first == nil {
			first = pass
		}
	}
	return first, nil
}

// lowers reports whether a spec can be lowered.
func lowers(spec string) bool {
	p, err := model.Load("", []byte(spec), nil)
	if err == nil {
		_, err = lowering.Lower(p, lowering.Options{})
	}
	return err == nil
}
