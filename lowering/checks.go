package lowering

import "github.com/hirgen/hirgen/model"

// checks says how the program checks itself: which outputs need a tolerance, and what then
// fills the inputs. A program whose check is exact says nothing.
func (b *builder) checks(p *model.Pipeline) {
	tolerances := model.Tolerances(p)
	if len(tolerances) == 0 {
		return
	}
	for t, tolerance := range tolerances {
		b.tensors[t].Tolerance = tolerance
	}
	for t, deviation := range model.Deviations(p) {
		if deviation != 1 {
			b.tensors[t].Deviation = deviation
		}
	}
}
