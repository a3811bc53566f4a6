package lowertest

import (
	"slices"
	"testing"

	"github.com/hirgen/hirgen/model"
)

// elementsOfSmall is the largest number of elements that a tensor of a small spec should have.
const elementsOfSmall = 1 << 15

// Smallest loads a spec with small parameters: it halves one parameter after the other as long as the spec still loads.
// It halves parameters that are plain numbers and, if a tensor is still large, also those that are expressions. It
// keeps the parameter D.
func Smallest(t *testing.T, file string) *model.Pipeline {
	t.Helper()
	p, _, err := model.LoadFile(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	plain, all := map[string]int64{}, map[string]int64{}
	for _, param := range p.Params {
		if param.Name == "D" {
			continue
		}
		if all[param.Name] = param.Value; param.Text == "" {
			plain[param.Name] = param.Value
		}
	}
	if small := halved(p, file, plain); !slices.ContainsFunc(small.Tensors, isLarge) {
		return small
	}
	return halved(p, file, all)
}

func isLarge(t *model.Tensor) bool {
	n := int64(1)
	for _, a := range t.Axes {
		n *= a.Size
	}
	return n > elementsOfSmall
}

// halved divides parameters of a spec by 2, one after the other, as long as the spec loads, and returns the last
// pipeline that it loaded, or p if it loaded none. values has the parameters to halve and their first values; halved
// updates it.
func halved(p *model.Pipeline, file string, values map[string]int64) *model.Pipeline {
	for again := true; again; {
		again = false
		for _, param := range p.Params {
			before := values[param.Name]
			if before < 2 {
				continue
			}
			values[param.Name] = before / 2
			if smaller, _, err := model.LoadFile(file, values); err == nil {
				p, again = smaller, true
			} else {
				values[param.Name] = before
			}
		}
	}
	return p
}
