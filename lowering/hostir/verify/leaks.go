package verify

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// leaks checks a program that frees its buffers (buffers: free, and one is freed already):
// whatever path it takes, it frees all that it allocates.
func (v *verifier) leaks() {
	if v.program.Choices.Get(schedule.Buffers) != schedule.Free || !frees(v.program.Body) {
		return
	}
	for _, s := range v.lives(v.program.Body).kept {
		v.breach(s.Pos, "leak", "%s is allocated and never freed", s.Tensor.Name)
	}
}

func frees(body []hostir.Stmt) bool {
	return hostir.Any(body, func(s hostir.Stmt) bool {
		_, isFree := s.(*hostir.Deallocate)
		return isFree
	})
}

// lives is what a list of statements does to buffers: what it allocates and keeps, and
// what it frees of others'.
type lives struct {
	kept  []*hostir.Allocate // in order
	freed []*hostir.Tensor
}

func (v *verifier) lives(body []hostir.Stmt) lives {
	var all lives
	at := map[*hostir.Tensor]int{} // in all.kept
	keep := func(s *hostir.Allocate) {
		at[s.Tensor] = len(all.kept)
		all.kept = append(all.kept, s)
	}
	free := func(t *hostir.Tensor) {
		if i, own := at[t]; own {
			all.kept[i] = nil
			delete(at, t)
		} else {
			all.freed = append(all.freed, t)
		}
	}
	for _, s := range body {
		switch s := s.(type) {
		case *hostir.Allocate:
			if s.Tensor.Role == hostir.Temp {
				keep(s)
			}
		case *hostir.Deallocate:
			free(s.Tensor)
		case *hostir.For:
			for _, kept := range v.lives(s.Body).kept {
				v.breach(kept.Pos, "leak", "%s is allocated in every iteration and not freed in it", kept.Tensor.Name)
			}
		case *hostir.If:
			both := v.livesOfSides(s)
			for _, kept := range both.kept {
				keep(kept)
			}
			for _, t := range both.freed {
				free(t)
			}
		}
	}
	all.kept = slices.DeleteFunc(all.kept, func(s *hostir.Allocate) bool { return s == nil })
	return all
}

// livesOfSides is what both sides of an If do alike; what only one does is a breach.
func (v *verifier) livesOfSides(s *hostir.If) lives {
	one, other := v.lives(s.Body), v.lives(s.Else)
	freed := map[*hostir.Tensor]int{}
	for _, t := range append(one.freed, other.freed...) {
		freed[t]++
	}
	both := lives{}
	for _, t := range one.freed {
		if freed[t] == 2 {
			both.freed = append(both.freed, t)
		}
	}
	for _, t := range append(one.freed, other.freed...) {
		if freed[t] == 1 {
			v.breach(s.Pos, "leak", "%s is freed on one side of the If alone", t.Name)
			both.freed = append(both.freed, t)
		}
	}
	seen := map[*hostir.Tensor]bool{}
	for _, kept := range append(one.kept, other.kept...) {
		if !seen[kept.Tensor] {
			both.kept = append(both.kept, kept)
		}
		seen[kept.Tensor] = true
	}
	return both
}
