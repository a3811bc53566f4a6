package hostir

// sum checks what a SumLoans borrows, and that it is what ends those receives.
func (f *flow) sum(s *SumLoans) {
	mark, found := len(f.log), false
	f.block(s.Body)
	Walk(s.Body, func(inner Stmt) bool {
		switch inner := inner.(type) {
		case *For, *If, *Select:
		case *P2PCommunication:
			found = true
			f.borrow(s, inner)
		default:
			f.breach(inner.Meta().Pos, "sum", "%s stands in a sum, which only borrows", inner.Op())
		}
		return true
	})
	if !found {
		f.breach(s.Pos, "sum", "%s borrows nothing", head(s))
	}
	f.undo(mark, func(c change) bool { return c.fact.kind == viewed })
}

// borrow checks one receive of a sum.
func (f *flow) borrow(s *SumLoans, recv *P2PCommunication) {
	switch {
	case recv.Backend != IPCGet || recv.Send:
		f.breach(recv.Pos, "sum", "%s is no receive over IPC-get: nothing is lent to it", recv.Handle)
	case recv.Reach != Anywhere:
		f.breach(recv.Pos, "sum", "%s takes place %s, and a sum needs all parts", recv.Handle, recv.Reach)
	case f.root(recv.Buffer) != f.root(s.Out):
		f.breach(recv.Pos, "sum", "%s goes into %s, which is no part of %s", recv.Handle, recv.Buffer.Name, s.Out.Name)
	}
	f.set(started, recv.Handle, false)
	f.set(waitedFor, recv.Handle, true)
}
