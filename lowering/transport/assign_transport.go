package transport

import (
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// AssignTransport gives every communication that has none the schedule's transport. A
// point-to-point pipeline has its own; the collectives beside it, and those of preset:
// eager, take NCCL. Where nothing goes over CUDA IPC, that is the whole program: no
// fallback variant is left.
//
// Requires: everything that crosses ranks is a communication.
// Establishes: every communication has a backend.
//
//	before: gather = Communication(Allgather, mesh world axis x, in A_s, out A_all_s)
//	after:  gather = Communication(Allgather, mesh world axis x, in A_s, out A_all_s, NCCL)
func AssignTransport(p *hostir.Program) error {
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
		*backend = hostir.NCCL
		return true
	})
	if p.Fallback != nil && !sharesMemory(p) {
		*p = *p.Fallback
		p.Choices.InterNode = ""
		for _, field := range []string{schedule.Via, schedule.Copy, schedule.Signals} {
			p.Choices.Unset(field)
		}
	}
	return nil
}

// sharesMemory reports whether any transfer of a program goes over CUDA IPC.
func sharesMemory(p *hostir.Program) bool {
	return hostir.Any(p.Body, func(s hostir.Stmt) bool {
		transfer, ok := s.(*hostir.P2PCommunication)
		return ok && transfer.Backend.IPC()
	})
}
