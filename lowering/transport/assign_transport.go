package transport

import (
	"cmp"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/schedule"
)

// AssignTransport sets the backend of every communication that has none: the transport of the schedule if it supports
// this collective, and NCCL otherwise. Transfers of a point-to-point pipeline already have their backend. If no
// transfer of the program uses CUDA IPC, the fallback variant replaces the program, with the fields via, copy and
// signals unset.
//
// Requires: all transfers between ranks are communications.
// Establishes: every communication has a backend.
//
//	before: gather = Communication(Allgather, mesh world axis x, in A_s, out A_all_s)
//	after:  gather = Communication(Allgather, mesh world axis x, in A_s, out A_all_s, NCCL)
func AssignTransport(p *hostir.Program) error {
	for s := range hostir.All(p.Body) {
		switch s := s.(type) {
		case *hostir.Communication:
			via := hostir.BackendOf(p.Choices.Of(s.Of, schedule.Via))
			if !via.Carries(s.Type) {
				via = hostir.NCCL
			}
			s.Backend = cmp.Or(s.Backend, via)
		case *hostir.P2PCommunication:
			s.Backend = cmp.Or(s.Backend, hostir.NCCL)
		}
	}
	if p.Fallback != nil && !sharesMemory(p) {
		*p = *p.Fallback
		p.Choices.InterNode = ""
		for _, field := range []string{schedule.Via, schedule.Copy, schedule.Signals} {
			p.Choices.Unset(field)
		}
	}
	return nil
}

// sharesMemory reports whether any transfer of a program uses CUDA IPC.
func sharesMemory(p *hostir.Program) bool {
	return hostir.Any(p.Body, func(s hostir.Stmt) bool {
		transfer, ok := s.(*hostir.P2PCommunication)
		return ok && transfer.Backend.IPC()
	})
}
