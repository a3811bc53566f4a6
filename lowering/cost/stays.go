package cost

import (
	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// communicator identifies the communicator of a collective: the ranks along an axis of a mesh.
type communicator struct{ mesh, axis string }

// staysOnCaller finds the collectives that the program issues to the caller's stream. A communicator's
// collectives stay there if the caller waits for each of them at once, so that nothing could run at the same
// time. Messages between two ranks use the communicator of all ranks; if there are any, no collective stays.
func staysOnCaller(p *hostir.Program) map[hostir.Stmt]bool {
	all, waited := map[communicator][]hostir.Stmt{}, map[hostir.Stmt]bool{}
	messages := false
	var collect func(body []hostir.Stmt)
	collect = func(body []hostir.Stmt) {
		for i, s := range body {
			for _, inner := range hostir.Bodies(s) {
				collect(*inner)
			}
			switch s := s.(type) {
			case *hostir.P2PCommunication:
				messages = messages || !s.Backend.IPC()
			case *hostir.Communication:
				messages = messages || s.Type == collective.SendRecv
				of := communicator{s.Mesh.Name, s.MeshAxis}
				all[of] = append(all[of], s)
				waited[s] = waitedAtOnce(s, body[i+1:])
			}
		}
	}
	collect(p.Body)
	stays := map[hostir.Stmt]bool{}
	for _, calls := range all {
		direct := !messages
		for _, s := range calls {
			direct = direct && waited[s]
		}
		for _, s := range calls {
			stays[s] = direct
		}
	}
	return stays
}

// waitedAtOnce reports whether a communication and its Wait are both on the caller's stream, with only
// statements that name memory in between.
func waitedAtOnce(s *hostir.Communication, rest []hostir.Stmt) bool {
	for _, next := range rest {
		if _, names := next.(*hostir.Allocate); names || hostir.MakesView(next) {
			continue
		}
		wait, ok := next.(*hostir.Wait)
		return ok && wait.Handle == s.Handle && s.On.Is(hostir.StreamRef{}) && wait.On.Is(hostir.StreamRef{})
	}
	return false
}
