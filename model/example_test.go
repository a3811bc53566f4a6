package model_test

import (
	"fmt"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// Axes are written as in a spec. The axes of undeclared results are inferred.
func ExampleBuilder() {
	b := model.New("mlp").Param("D", 4).Param("M", 1024).Param("K", 512).Param("N", 2048)
	b.World().Axis("x", "D")
	b.Tensor("X", "M", "K")
	b.Tensor("W1", "DIDx", "N/D", "K")
	b.Tensor("W2", "DIDx", "K", "N/D")
	b.Linear("Z", "X", "W1").Unary("gelu", "A", "Z").Linear("P", "A", "W2").Reduce("sum", "Y", "P", 0)
	p, err := b.Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range p.Tensors[3:] {
		fmt.Println(t.Name, domain.FormatAxes(t.Axes))
	}
	// Output:
	// Z [DIDx(D), M, N/D]
	// A [DIDx(D), M, N/D]
	// P [DIDx(D), M, K]
	// Y [M, K]
}

// Extents can be combined. They stay expressions over parameters.
func ExampleExtent() {
	b := model.New("rows")
	M, D := b.Extent("M", 1024), b.Extent("D", 4)
	fmt.Println(M.Over(D.Times(model.Constant(2))))
	// Output: M/(D*2)
}

// An error has the position of the call that made it, or the position that At has set.
func ExampleBuilder_Build() {
	b := model.New("wrong").At("model.go", 7, 1)
	b.Tensor("A", "8", "16")
	_, err := b.Unary("rleu", "B", "A").Build()
	fmt.Println(err)
	// Output: model.go:7:1: error HG061: there is no operation "rleu"
}
