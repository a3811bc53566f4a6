package lowertest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// CheckNeeds returns an error for a communication without a Need, or with a Need that names a tensor other than an
// input or a result of the model's operations. It checks the program and its fallback variants.
func CheckNeeds(p *hostir.Program) error {
	known := func(name string) bool {
		return slices.ContainsFunc(p.Tensors, func(t *hostir.Tensor) bool { return t.Name == name && t.Role == hostir.Input }) ||
			slices.ContainsFunc(p.Reference, func(op domain.Operation) bool { return slices.Contains(op.Results(), name) })
	}
	for _, form := range p.Variants() {
		for _, m := range hostir.Movements(form) {
			for _, need := range m.Needs {
				if by := need.By[strings.LastIndexByte(need.By, ' ')+1:]; !known(need.Tensor) || !known(by) {
					return fmt.Errorf("%v says: %s", m, need)
				}
			}
			if len(m.Needs) == 0 {
				return fmt.Errorf("%v does not say why", m)
			}
		}
	}
	return nil
}
