package place

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// Next is the cheapest assignment that avoids one communication of the chosen assignment.
type Next struct {
	Us      float64 // how much longer it takes than the chosen assignment, in microseconds, by the prices of the search
	Instead string  // its communications that the chosen assignment lacks, in words; see instead
}

// NextBest returns a function that finds the cheapest assignment without a communication of the chosen one. That
// assignment also lacks the same communication of tensors that alike maps to the same name. The function returns false
// if the chosen assignment has no such communication, and a nil Next if no assignment avoids it.
func NextBest(p *hostir.Program, prices Prices) func(without hostir.Change) (next *Next, found bool) {
	chosen, least := assigned(p, prices, hostir.Change{})
	known := map[hostir.Change]*Next{}
	return func(without hostir.Change) (*Next, bool) {
		next, again := known[without]
		if _, found := chosen[without]; !found || again {
			return next, found
		}
		if other, us := assigned(p, prices, without); other != nil {
			next = &Next{us - least, instead(other, chosen)}
		}
		known[without] = next
		return next, true
	}
}

// assigned returns the communications of the cheapest assignment that avoids the communication without. It returns the bytes of their
// results on one rank, and the time of the assignment. It returns nil and 0 if no assignment is possible. With the zero Change no
// communication is excluded.
func assigned(p *hostir.Program, prices Prices, without hostir.Change) (made map[hostir.Change]int64, us float64) {
	spec, same, other := hostir.SpecOf(p), alike(p), *p
	other.Tensors = slices.Clone(p.Tensors)
	us, assigned := assign(&other, prices, func(t *hostir.Tensor, mesh *domain.Mesh, s step) bool {
		return s.kind() == without.Type && s.kind() != "" && mesh.Axes[s.mesh].Name == without.Axis &&
			same(spec.Name(nil, t)) == same(without.Tensor)
	})
	if !assigned {
		return nil, 0
	}
	made = map[hostir.Change]int64{}
	for _, s := range other.Body {
		if need := s.Meta().Need; need != nil {
			out := hostir.Result(s)
			made[need.Change()] += hostir.LocalElements(out) * out.DType.Size()
		}
	}
	return made, us
}

// alike returns a function that maps the name of a reshaped, permuted or broadcast tensor to the name of the tensor that it comes
// from, through any number of these operations. Other names stay.
func alike(p *hostir.Program) func(name string) string {
	from := map[string]string{}
	for _, s := range p.Body {
		switch s.(type) {
		case *hostir.Reshape, *hostir.Permute, *hostir.Broadcast:
			from[hostir.Result(s).Name] = hostir.Uses(s)[0].Name
		}
	}
	return func(name string) string {
		for from[name] != "" {
			name = from[name]
		}
		return name
	}
}

// instead lists the communications of made that are not in others, with their bytes, in alphabetical order. If there are none, it names
// more work on each rank.
func instead(made, others map[hostir.Change]int64) string {
	var list []string
	for c, bytes := range made {
		if _, both := others[c]; !both {
			list = append(list, fmt.Sprintf("%s of %s over %s (%s)", c.Type.Kind(), c.Tensor, c.Axis, size(bytes)))
		}
	}
	if len(list) == 0 {
		return "more work on each rank"
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// size formats a number of bytes.
func size(n int64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d bytes", n)
}
