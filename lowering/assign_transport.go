package lowering

import (
	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// AssignTransport gives every communication that has none the schedule's transport. A
// point-to-point pipeline has its own; the collectives beside it, and those of pipeline:
// eager, take NCCL. Where nothing goes over CUDA IPC, that is the whole program: none
// runs otherwise.
//
// Requires: everything that crosses ranks is a communication.
// Establishes: every communication has a backend.
//
//	before: gather = Communication(Allgather, mesh world axis x, in A_s, out A_all_s)
//	after:  gather = Communication(Allgather, mesh world axis x, in A_s, out A_all_s, NCCL)
func AssignTransport(p *hostir.Program) error {
	var errors diag.List
	hostir.Walk(p.Body, func(s hostir.Stmt) bool {
		var backend *hostir.Backend
		switch s := s.(type) {
		case *hostir.Communication:
			backend = &s.Backend
		case *hostir.P2PCommunication:
			backend = &s.Backend
		default:
			return true
		}
		if *backend != hostir.None {
			return true
		}
		if p.Choices.Transport != "nccl" && !exchanges(p.Choices.Pipeline) && p.Choices.Pipeline != "eager" {
			errors.Add(s.Meta().Pos, diag.NotLowerable, "transport: %s cannot carry this %s: it is for what goes from rank to rank",
				p.Choices.Transport, kindOf(s)).WithHint("choose transport: nccl, or pipeline: p2p")
			return true
		}
		*backend = hostir.NCCL
		return true
	})
	if p.Otherwise != nil && !sharesMemory(p) {
		*p = *p.Otherwise
		p.Choices.Transport, p.Choices.Elsewhere, p.Choices.Copy, p.Choices.Signals = p.Choices.Elsewhere, "", "", ""
	}
	return errors.Err()
}

// kindOf is what an author calls a communication: "allgather".
func kindOf(s hostir.Stmt) string {
	if c, ok := s.(*hostir.Communication); ok {
		return c.Type.Kind()
	}
	return "transfer"
}

// sharesMemory reports whether any transfer of a program goes over CUDA IPC.
func sharesMemory(p *hostir.Program) bool {
	return hostir.Any(p.Body, func(s hostir.Stmt) bool {
		transfer, ok := s.(*hostir.P2PCommunication)
		return ok && transfer.Backend.IPC()
	})
}

// exchanges reports whether slices go from rank to rank in pipelines of a kind.
func exchanges(pipeline string) bool { return pipeline == "p2p" || pipeline == "ring" }
