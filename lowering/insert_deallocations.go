package lowering

import (
	"github.com/hirgen/hirgen/lowering/hostir"
)

// InsertDeallocations frees every buffer that the program allocates, after the last
// top-level statement that names it or a view of it, and after the loop of joins where
// that statement is a pipeline which has one. The default, buffers: keep,
// binds buffers to the program's lifetime instead and leaves the program alone.
//
// Requires: pipelines have joined the caller's stream in their work loop or in the
// statement behind it.
// Establishes: with buffers: free, every Temp is freed once, on every path.
//
//	before: T = Allocate; T = Unary(relu, A); C = Unary(exp, T)
//	after:  T = Allocate; T = Unary(relu, A); C = Unary(exp, T); Deallocate(T)
func InsertDeallocations(p *hostir.Program) error {
	if p.Choices.Buffers != "free" {
		return nil
	}
	last, freed := lastUses(p.Body)
	body := make([]hostir.Stmt, 0, len(p.Body)+len(last))
	for i, s := range p.Body {
		body = append(body, s)
		for _, t := range last[i] {
			if !freed[t] {
				body = append(body, &hostir.Deallocate{Info: info(s, ""), Tensor: t})
			}
		}
	}
	p.Body = body
	return nil
}

// lastUses gives, for each top-level statement, the Temps that no later one needs,
// in order of their allocation, and those that are freed already.
func lastUses(body []hostir.Stmt) (last map[int][]*hostir.Tensor, freed map[*hostir.Tensor]bool) {
	base := map[*hostir.Tensor]*hostir.Tensor{} // view -> the buffer behind it
	at := map[*hostir.Tensor]int{}
	freed = map[*hostir.Tensor]bool{}
	var temps []*hostir.Tensor
	for i, top := range body {
		hostir.Walk([]hostir.Stmt{top}, func(s hostir.Stmt) bool {
			switch s := s.(type) {
			case *hostir.Allocate:
				if s.Tensor.Role == hostir.Temp {
					temps = append(temps, s.Tensor)
				}
			case *hostir.Deallocate:
				freed[s.Tensor] = true
			}
			if out := hostir.Result(s); out != nil && out.Role == hostir.View && base[out] == nil {
				base[out] = root(base, hostir.Uses(s)[0])
			}
			for _, t := range hostir.Mentions(s) {
				at[root(base, t)] = i
			}
			return true
		})
	}
	last = map[int][]*hostir.Tensor{}
	for _, t := range temps {
		i := at[t]
		if i+1 < len(body) && isJoinLoop(body[i+1]) {
			i++
		}
		last[i] = append(last[i], t)
	}
	return last, freed
}

// isJoinLoop reports whether s makes the caller's stream wait for the workers and does
// nothing else.
func isJoinLoop(s hostir.Stmt) bool {
	loop, ok := s.(*hostir.For)
	if !ok || len(loop.Body) != 2 {
		return false
	}
	back, ok := loop.Body[0].(*hostir.SetCurrentStream)
	join, ok2 := loop.Body[1].(*hostir.Synchronize)
	return ok && ok2 && back.Stream.Index == nil && join.Stream.Index != nil
}

func root(base map[*hostir.Tensor]*hostir.Tensor, t *hostir.Tensor) *hostir.Tensor {
	if b := base[t]; b != nil {
		return b
	}
	return t
}
