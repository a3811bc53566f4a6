package hostir

import (
	"fmt"
	"slices"
)

// Walk calls visit for every statement in program order, bodies after their For or
// If. When visit returns false, the statement's bodies are left out.
func Walk(body []Stmt, visit func(Stmt) bool) {
	for _, s := range body {
		if !visit(s) {
			continue
		}
		for _, b := range Bodies(s) {
			Walk(*b, visit)
		}
	}
}

// Any reports whether is holds for a statement of the body, or for one inside of it.
func Any(body []Stmt, is func(Stmt) bool) bool {
	found := false
	Walk(body, func(s Stmt) bool {
		found = found || is(s)
		return !found
	})
	return found
}

// Rewrite replaces every statement by what f returns for it, innermost first, and
// returns the new body. The slices of the old body are not written to.
func Rewrite(body []Stmt, f func(Stmt) []Stmt) []Stmt {
	out := make([]Stmt, 0, len(body))
	for _, s := range body {
		for _, b := range Bodies(s) {
			*b = Rewrite(*b, f)
		}
		out = append(out, f(s)...)
	}
	return out
}

// RewriteBlocks replaces every list of statements by what f returns for it,
// innermost first. It is for passes that look at adjacent statements.
func RewriteBlocks(body []Stmt, f func([]Stmt) []Stmt) []Stmt {
	for _, s := range body {
		for _, b := range Bodies(s) {
			*b = RewriteBlocks(*b, f)
		}
	}
	return f(body)
}

// Bodies gives the statement lists inside a statement: one for a For or a PeerReadSum, two for
// an If, none for any other.
func Bodies(s Stmt) []*[]Stmt {
	switch s := s.(type) {
	case *For:
		return []*[]Stmt{&s.Body}
	case *If:
		return []*[]Stmt{&s.Body, &s.Else}
	case *PeerReadSum:
		return []*[]Stmt{&s.Body}
	default:
		return nil
	}
}

// Uses lists the tensors whose elements a statement reads, in the order of its
// operands; of what makes a view, the tensor that it is a view of.
func Uses(s Stmt) []*Tensor {
	uses, _ := slots(s)
	return load(uses)
}

// Defs lists the tensors that a statement writes; of what makes a view, that view.
func Defs(s Stmt) []*Tensor {
	_, defs := slots(s)
	return load(defs)
}

// Mentions lists every tensor that a statement names, also where it only makes or
// frees the buffer.
func Mentions(s Stmt) []*Tensor {
	switch s := s.(type) {
	case *Allocate:
		return []*Tensor{s.Tensor}
	case *Deallocate:
		return []*Tensor{s.Tensor}
	default:
		uses, defs := slots(s)
		return append(load(uses), load(defs)...)
	}
}

// SubstituteUses replaces each operand t by f(t).
func SubstituteUses(s Stmt, f func(*Tensor) *Tensor) {
	uses, _ := slots(s)
	for _, u := range uses {
		*u = f(*u)
	}
}

// ReplaceUses gives a statement other operands, in the order of Uses. Unlike SubstituteUses it
// tells two operands apart that are the same tensor.
func ReplaceUses(s Stmt, operands []*Tensor) {
	uses, _ := slots(s)
	for i, u := range uses {
		*u = operands[i]
	}
}

// SubstituteDefs replaces each result t by f(t).
func SubstituteDefs(s Stmt, f func(*Tensor) *Tensor) {
	_, defs := slots(s)
	for _, d := range defs {
		*d = f(*d)
	}
}

// MakesView reports whether a statement can make its result a view of its operand, and then
// only names memory.
func MakesView(s Stmt) bool {
	switch s.(type) {
	case *Select, *Either, *Broadcast, *Permute, *Reshape, *Slice:
		return true
	default:
		return false
	}
}

// Result is the tensor that a compute statement or a Communication writes, or nil.
func Result(s Stmt) *Tensor {
	if defs := Defs(s); len(defs) == 1 {
		return defs[0]
	}
	return nil
}

// Handle is the name that Wait uses for what a statement starts, or "".
func Handle(s Stmt) string {
	switch s := s.(type) {
	case *Communication:
		return s.Handle
	case *P2PCommunication:
		return s.Handle
	case *EndCoalescing:
		return s.Handle
	default:
		return ""
	}
}

func load(list []**Tensor) []*Tensor {
	out := make([]*Tensor, 0, len(list))
	for _, t := range list {
		out = append(out, *t)
	}
	return out
}

// present leaves out the operands that a statement lacks.
func present(operands ...**Tensor) []**Tensor {
	return slices.DeleteFunc(operands, func(t **Tensor) bool { return *t == nil })
}

// slots is the one place that knows which fields of a statement are operands and
// which are results.
func slots(s Stmt) (uses, defs []**Tensor) {
	type refs = []**Tensor
	switch s := s.(type) {
	case *Select:
		return refs{&s.In}, refs{&s.Out}
	case *Either:
		return refs{&s.Then, &s.Else}, refs{&s.Out}
	case *Set:
		return refs{&s.In}, refs{&s.Out}
	case *Matmul:
		return present(&s.A, &s.B, &s.Addend), refs{&s.Out}
	case *Linear:
		return present(&s.X, &s.W, &s.Bias, &s.Addend), refs{&s.Out}
	case *Broadcast:
		return refs{&s.In}, refs{&s.Out}
	case *Permute:
		return refs{&s.In}, refs{&s.Out}
	case *Reshape:
		return refs{&s.In}, refs{&s.Out}
	case *Positions:
		return nil, refs{&s.Out}
	case *Slice:
		return refs{&s.In}, refs{&s.Out}
	case *Concat:
		uses := make(refs, len(s.In))
		for i := range s.In {
			uses[i] = &s.In[i]
		}
		return uses, refs{&s.Out}
	case *Unary:
		return refs{&s.In}, refs{&s.Out}
	case *Binary:
		return refs{&s.A, &s.B}, refs{&s.Out}
	case *Cast:
		return refs{&s.In}, refs{&s.Out}
	case *Reduce:
		return refs{&s.In}, refs{&s.Out}
	case *PeerReadSum:
		return refs{&s.In}, refs{&s.Out}
	case *Fused:
		for i := range s.In {
			uses = append(uses, &s.In[i])
		}
		return uses, refs{&s.Out}
	case *Communication:
		return refs{&s.In}, refs{&s.Out}
	case *P2PCommunication:
		if s.Send {
			return refs{&s.Buffer}, nil
		}
		return nil, refs{&s.Buffer}
	case *Allocate, *Deallocate, *Delay, *GetCurrentStream, *Synchronize,
		*For, *If, *StartCoalescing, *EndCoalescing, *Wait, *ShareMemHandles:
		return nil, nil
	default:
		panic(fmt.Sprintf("hostir: unknown statement %T", s))
	}
}

// IsGEMM reports whether a statement is a matrix multiplication.
func IsGEMM(s Stmt) bool {
	switch s.(type) {
	case *Matmul, *Linear:
		return true
	default:
		return false
	}
}
