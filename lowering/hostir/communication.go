package hostir

import "github.com/hirgen/hirgen/internal/base/lists"

// Communications returns a function that maps a Set, a Reduce or a Communication to its name in a schedule. The name is the
// tensor of the spec whose shards are gathered or distributed, or the result of a reduction. A tensor that is summed and then
// gathered has one name for both. If no tensor of the spec is found, the name is the result of the statement's operation, or
// else the tensor of the statement itself.
func Communications(p *Program) func(s Stmt) string {
	source := map[*Tensor]*Tensor{} // copy or view -> its source
	for s := range All(p.Body) {
		Views(s, func(t *Tensor) { source[t] = Uses(t.Of)[0] })
		if out := Result(s); (Is[*Set](s) || MakesView(s)) && source[out] == nil && Uses(s)[0] != out {
			source[out] = Uses(s)[0]
		}
	}
	inSpec := map[*Tensor]bool{}
	for _, t := range p.Tensors {
		inSpec[t] = t.Role == Input || t.Role == Output
	}
	made := map[string]bool{}
	for _, op := range p.Reference {
		lists.Mark(made, op.Results())
	}
	return func(s Stmt) string {
		t := moved(s)
		for from := t; from != nil; from = source[from] {
			if inSpec[from] || made[from.Name] {
				return from.Name
			}
		}
		if op := operationOf(p, s); op != nil {
			return op.Out
		}
		return t.Name
	}
}

// moved returns the tensor that gives a communication its name: its operand, or the result of a reduction.
func moved(s Stmt) *Tensor {
	switch s := s.(type) {
	case *Reduce:
		return s.Out
	case *Communication:
		if s.ReduceFn != "" {
			return s.Out
		}
		return s.In
	}
	return Uses(s)[0]
}

// ResultAt returns the first result of the operation of the spec that a statement comes from. It is empty if no operation, or
// several, have the statement's position.
func ResultAt(p *Program, s Stmt) string {
	if op := operationOf(p, s); op != nil {
		return op.Out
	}
	return ""
}

// CommunicationOf returns the name in the schedule of the communication that a Communication or P2PCommunication is part of. It
// is empty if the schedule has no choices for that communication alone, and for other statements.
func CommunicationOf(s Stmt) string {
	switch s := s.(type) {
	case *Communication:
		return s.Of
	case *P2PCommunication:
		return s.Of
	}
	return ""
}
