package schedules

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/model/domain"
)

// mostOperations is the largest number of operations of a program that are lowered for each candidate. Large programs
// repeat the same layers, and all layers get the same schedule, so their beginning is representative.
const mostOperations = 256

// beginningOf returns the text of a program before any pass, and its number of statements. If it has more than most statements, only
// the beginning that ends at endOf is included.
func beginningOf(p *hostir.Program, most int) (source string, statements int, err error) {
	source = text.Print(p)
	if len(p.Body) <= most {
		return source, len(p.Body), nil
	}
	beginning, err := text.Parse(p.File, source)
	if err != nil {
		return "", 0, err
	}
	keepBeginning(beginning, endOf(p.Body, most))
	return text.Print(beginning), len(beginning.Body), nil
}

// endOf returns the number of statements, more than half of most and at most most, after which the fewest results are still to be read.
// In a program of layers, that is the end of a layer. In its middle, the results of the cut would have to be whole.
func endOf(body []hostir.Stmt, most int) int {
	last := map[*hostir.Tensor]int{} // the index of the last statement that reads a tensor
	for i, s := range body {
		for _, t := range hostir.Uses(s) {
			last[t] = i
		}
	}
	end, fewest, open := 0, len(last)+1, 0
	ends := make([]int, len(body)) // how many results each statement is the last to read
	for i, s := range body[:most] {
		for _, t := range hostir.Defs(s) {
			if at, read := last[t]; read {
				open++
				ends[at]++
			}
		}
		if open -= ends[i]; i >= most/2 && open <= fewest {
			end, fewest = i+1, open
		}
	}
	return end
}

// keepBeginning removes all statements of a program except the first most. The program must not have been through any
// pass. Results that no kept statement reads become outputs, and unused tensors are removed. The reference keeps the operations that
// the statements come from, because passes and needs of communications find names and composites of the spec in it.
func keepBeginning(p *hostir.Program, most int) {
	p.Body, p.Saved = p.Body[:most], nil
	makers, readers := hostir.Makers(p.Body), hostir.Readers(p.Body)
	p.Tensors = slices.DeleteFunc(p.Tensors, func(t *hostir.Tensor) bool { return makers[t] == nil && readers[t] == nil })
	results := map[string]bool{}
	for _, t := range p.Tensors {
		results[t.Name] = makers[t] != nil
		if makers[t] != nil && readers[t] == nil {
			t.Role = hostir.Output
		}
	}
	p.Reference = slices.DeleteFunc(p.Reference, func(op domain.Operation) bool { return !results[op.Out] })
	slices.SortStableFunc(p.Tensors, func(a, b *hostir.Tensor) int { return turn(a.Role) - turn(b.Role) })
}

// turn returns the position of a role in the order in which programs list tensors: inputs, outputs, other tensors.
func turn(r hostir.Role) int {
	switch r {
	case hostir.Input:
		return 0
	case hostir.Output:
		return 1
	}
	return 2
}
