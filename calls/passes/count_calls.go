package passes

import "github.com/hirgen/hirgen/calls"

// countCalls names the shares whose calls one kernel counts, in a program that is captured as a CUDA graph. The last of several
// adjacent BeginCalls gets the shares of all of them. The kernel of a RowExchange counts the calls of its share itself.
func countCalls(p *calls.Program) {
	if !p.Graph {
		return
	}
	shares := calls.ByName(p.Shares)
	calls.EditLists(p.Body, func(body []calls.Stmt) []calls.Stmt {
		var counted []string
		for i, s := range body {
			b, ok := s.(*calls.BeginCall)
			if !ok {
				continue
			}
			if d := shares[b.Share]; d != nil && d.Rows == nil {
				counted = append(counted, b.Share)
			}
			if i+1 < len(body) {
				if _, more := body[i+1].(*calls.BeginCall); more {
					b.Counts = nil
					continue
				}
			}
			b.Counts, counted = counted, nil
		}
		return body
	})
}
