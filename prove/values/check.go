package values

import (
	"fmt"

	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/eval"
	"github.com/hirgen/hirgen/prove/unroll"
)

// Mismatch is an output with wrong values on one rank.
type Mismatch struct {
	Rank            int32
	Output          string // tensor of the spec
	Elements, Wrong int64  // how many elements it has there, and how many of them are wrong
	First           int64  // the first wrong one, row-major
	By              int32  // the statement that wrote First last; -1: none
}

// Result is the outcome of a comparison.
type Result struct {
	Elements   int64 // number of elements of all outputs on all ranks
	Mismatches []Mismatch
}

// An InternalError is a panic of Check, which is a mistake in hirgen.
type InternalError struct {
	Failure any   // what recover returned
	By      int32 // the statement that ran; -1: none
}

func (e *InternalError) Error() string { return fmt.Sprintf("internal error: %v", e.Failure) }

// Check runs one call of a program, and the model, in the field, and compares the outputs of each rank. The seed chooses inputs
// and random functions. The program must have no faults. Check returns an error if it cannot decide, an *InternalError after a panic.
func Check(p *unroll.Program, spec *model.Pipeline, seed uint64) (r *Result, err error) {
	m := &machine{by: nobody}
	defer func() {
		if failure := recover(); failure != nil {
			r, err = nil, &InternalError{failure, m.by}
		}
	}()
	if len(p.Faults) > 0 {
		return nil, fmt.Errorf("it has faults: %s", p.Faults[0].Text)
	}
	f := newField(seed)
	inputs := map[string]*eval.Array{}
	for _, t := range spec.Inputs {
		inputs[t.Name] = f.input(t)
	}
	want, err := eval.RunIn(spec, inputs, f.numbers())
	if err != nil {
		return nil, err
	}
	if err := m.call(p, f, shards(p, spec.Inputs, inputs)); err != nil {
		return nil, err
	}
	return m.compare(spec, shards(p, spec.Outputs, want)), nil
}

// input returns a random array of a tensor's shape.
func (f *field) input(t *model.Tensor) *eval.Array {
	a := eval.NewArray(domain.Shape(t.Axes)...)
	f.randoms(a.Data, "input "+t.Name)
	return a
}

// shards returns the part of each tensor that each rank has, row-major, by rank and name of the tensor.
func shards(p *unroll.Program, list []*model.Tensor, values map[string]*eval.Array) []map[string][]float64 {
	ranks := make([]map[string][]float64, len(p.Ranks))
	for r := range ranks {
		ranks[r] = map[string][]float64{}
		for _, t := range list {
			if a, ok := eval.Shard(t, values[t.Name], r); ok {
				ranks[r][t.Name] = a.Data
			}
		}
	}
	return ranks
}

// compare compares outputs in the order of ranks and of the model.
func (m *machine) compare(p *model.Pipeline, want []map[string][]float64) *Result {
	result := &Result{}
	for r := range want {
		for _, t := range p.Outputs {
			expected, holds := want[r][t.Name]
			if !holds {
				continue
			}
			result.Elements += int64(len(expected))
			got := m.outputs[r][t.Name]
			found := Mismatch{Rank: int32(r), Output: t.Name, Elements: int64(len(expected)), First: -1, By: nobody}
			for i, v := range expected {
				if i < len(got.data) && got.data[i] == v {
					continue
				}
				if found.Wrong++; found.First < 0 {
					found.First = int64(i)
					if i < len(got.writer) {
						found.By = got.writer[i]
					}
				}
			}
			if found.Wrong > 0 {
				result.Mismatches = append(result.Mismatches, found)
			}
		}
	}
	return result
}
