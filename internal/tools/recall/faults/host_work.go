package faults

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
)

const larger = "max"

func wrongReduce(e *editor, p *hostir.Program) {
	each(p, func(s *hostir.Reduce) {
		if s.Fn != larger && e.at(s, "of the largest one") {
			s.Fn = larger
		}
	})
}

func wrongReduction(e *editor, p *hostir.Program) {
	each(p, func(s *hostir.Communication) {
		if s.ReduceFn != "" && s.ReduceFn != larger && e.at(s, "of the largest one") {
			s.ReduceFn = larger
		}
	})
}

func wrongRoot(e *editor, p *hostir.Program) {
	each(p, func(s *hostir.Communication) {
		size := s.Mesh.Size()
		for i, a := range s.Mesh.Axes {
			if a.Name == s.MeshAxis {
				size = int(s.Mesh.Axes[i].Size)
			}
		}
		if s.Root != nil && size > 1 && e.at(s, "the next root") {
			s.Root = next(s.Root, int64(size))
		}
	})
}

func wrongPeer(e *editor, p *hostir.Program) {
	each(p, func(s *hostir.P2PCommunication) {
		if e.at(s, "the rank after the peer") {
			s.Peer = next(s.Peer, int64(p.Meshes[0].Size()))
		}
	})
}

func lostAddend(e *editor, p *hostir.Program) {
	each(p, func(s hostir.Stmt) {
		if hostir.Addend(s) == nil || !e.at(s, "adds nothing") {
			return
		}
		switch s := s.(type) {
		case *hostir.Matmul:
			s.Addend = nil
		case *hostir.Linear:
			s.Addend = nil
		}
	})
}

func lostEpilogue(e *editor, p *hostir.Program) {
	each(p, func(s hostir.Stmt) {
		if hostir.Epilogue(s) != "" && e.at(s, "applies nothing") {
			hostir.SetEpilogue(s, "")
		}
	})
}

func swappedSteps(e *editor, p *hostir.Program) {
	each(p, func(s *hostir.Fused) {
		for i := range s.Body {
			for j := range i {
				a, b := &s.Body[j], &s.Body[i]
				if len(a.Args) == len(b.Args) && len(a.Args) > 0 && a.Fn != b.Fn && a.Folds() == b.Folds() && e.at(s, a.Fn+" and "+b.Fn+" exchanged") {
					s.Body = slices.Clone(s.Body)
					s.Body[j].Fn, s.Body[i].Fn = b.Fn, a.Fn
					return
				}
			}
		}
	})
}

func swappedArguments(e *editor, p *hostir.Program) {
	each(p, func(s *hostir.Fused) {
		for i, step := range s.Body {
			if len(step.Args) == 2 && step.Args[0] != step.Args[1] && e.at(s, step.Name+" has its operands in the other order") {
				s.Body = slices.Clone(s.Body)
				s.Body[i].Args = []int{step.Args[1], step.Args[0]}
				return
			}
		}
	})
}

// lostEdge hides an operand of a statement from a pass: while the pass runs, the statement reads a different tensor.
func lostEdge(e *editor, p *hostir.Program, run func(*hostir.Program) error) error {
	hidden := map[*hostir.Tensor]*hostir.Tensor{}
	for s := range hostir.All(p.Body) {
		if !works(s) {
			continue
		}
		operands := hostir.Uses(s)
		for i, t := range operands {
			if !e.at(s, t.Name+" is not seen") {
				continue
			}
			unseen := *t
			unseen.Of, unseen.Role = nil, hostir.Input
			hidden[&unseen] = t
			operands = slices.Clone(operands)
			operands[i] = &unseen
			hostir.ReplaceUses(s, operands)
		}
	}
	if err := run(p); err != nil {
		return err
	}
	for s := range hostir.All(p.Body) {
		hostir.SubstituteUses(s, hostir.ByMap(hidden))
	}
	return nil
}

func waits(s hostir.Stmt) bool {
	switch s.(type) {
	case *hostir.Wait, *hostir.Synchronize:
		return true
	}
	return false
}

func lostWait(e *editor, p *hostir.Program) {
	p.Body = hostir.Rewrite(p.Body, func(s hostir.Stmt) []hostir.Stmt {
		if waits(s) && e.at(s, "left out") {
			return nil
		}
		return []hostir.Stmt{s}
	})
}

func lateWait(e *editor, p *hostir.Program) {
	exchange(e, p, func(a, b hostir.Stmt) bool { return waits(a) && !waits(b) })
}

func swappedLoops(e *editor, p *hostir.Program) {
	exchange(e, p, func(a, b hostir.Stmt) bool {
		return hostir.Is[*hostir.For](a) && hostir.Is[*hostir.For](b)
	})
}

func wrongStream(e *editor, p *hostir.Program) {
	each(p, func(s hostir.Stmt) {
		if on := s.Meta().On; works(s) && on.IsWorker() && p.Streams > 1 && e.at(s, "on the next stream") {
			s.Meta().On = hostir.StreamRef{Index: expr.Op("%", expr.Op("+", on.Index, expr.Int(1)), expr.Int(p.Streams))}
		}
	})
}
