package schedules

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
)

// mostOperations is how much of a program is lowered for each candidate. Large programs are the same layers over and over, and one
// schedule is chosen for all of them, so their beginning tells as much as the whole.
const mostOperations = 256

// beginningOf prints a program that no pass has run on; of a large one, its beginning.
func beginningOf(p *hostir.Program, most int) (string, error) {
	source := text.Print(p)
	if len(p.Body) <= most {
		return source, nil
	}
	beginning, err := text.Parse(p.File, source)
	if err != nil {
		return "", err
	}
	keepBeginning(beginning, most)
	return text.Print(beginning), nil
}

// keepBeginning leaves the first statements of a program that no pass has run on. What they make for later ones is an output then,
// and what no statement names is gone. Only the time of such a program means something: it has no reference to be checked by.
func keepBeginning(p *hostir.Program, most int) {
	p.Body, p.Reference, p.Saved = p.Body[:most], nil, nil
	made, read := map[*hostir.Tensor]bool{}, map[*hostir.Tensor]bool{}
	for _, s := range p.Body {
		for _, t := range hostir.Defs(s) {
			made[t] = true
		}
		for _, t := range hostir.Uses(s) {
			read[t] = true
		}
	}
	p.Tensors = slices.DeleteFunc(p.Tensors, func(t *hostir.Tensor) bool { return !made[t] && !read[t] })
	for _, t := range p.Tensors {
		if made[t] && !read[t] {
			t.Role = hostir.Output
		}
	}
	slices.SortStableFunc(p.Tensors, func(a, b *hostir.Tensor) int { return place(a.Role) - place(b.Role) })
}

// place orders tensors as programs list them: inputs, outputs, the rest.
func place(r hostir.Role) int {
	switch r {
	case hostir.Input:
		return 0
	case hostir.Output:
		return 1
	}
	return 2
}
