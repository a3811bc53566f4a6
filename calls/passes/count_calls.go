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
		var before *calls.BeginCall // the statement before, if it is a BeginCall
		for _, s := range body {
			b, ok := s.(*calls.BeginCall)
			if !ok {
				before = nil
				continue
			}
			b.Counts = nil
			if before != nil {
				b.Counts, before.Counts = before.Counts, nil
			}
			if d := shares[b.Share]; d != nil && d.Rows == nil {
				b.Counts = append(b.Counts, b.Share)
			}
			before = b
		}
		return body
	})
}
