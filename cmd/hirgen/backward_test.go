package main

import (
	"testing"

	"github.com/hirgen/hirgen/internal/tools/soak"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/grad"
)

// TestBackwardPassesLower checks that the backward passes of random specs can be lowered if the specs can.
func TestBackwardPassesLower(t *testing.T) {
	const specs = 400
	lowered := 0
	for n := range uint64(specs) {
		text := soak.MakeUp(5, n).Text()
		p, err := model.Load("spec.yaml", []byte(text), nil)
		if err == nil {
			_, err = lowering.Lower(p, lowering.Options{})
		}
		if err != nil {
			continue // some random specs are invalid
		}
		pass, err := backward(p, grad.Options{})
		if err != nil {
			continue // some have no gradients
		}
		q, err := model.Load("backward.yaml", []byte(pass.Text), nil)
		if err == nil {
			_, err = lowering.Lower(q, lowering.Options{})
		}
		if err != nil {
			t.Errorf("%v\n%s\n%s", err, text, pass.Text)
		}
		lowered++
	}
	if lowered < specs/2 {
		t.Errorf("only %d backward passes of %d specs", lowered, specs)
	}
}
