package lowering

import (
	"strconv"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// namer gives names that nothing else in a program has: tensors, parameters,
// handles, stream and loop variables share one space, since all of them become
// identifiers of one emitted program.
type namer struct {
	used map[string]bool
	next map[string]int // the first suffix to try, so that n clashes cost n steps
}

func newNamer(p *hostir.Program) *namer {
	n := &namer{used: map[string]bool{"rank": true, "worker": true}, next: map[string]int{}}
	for _, param := range p.Params {
		n.used[param.Name] = true
	}
	for _, m := range p.Meshes {
		n.used[m.Name] = true
	}
	for _, t := range p.Tensors {
		n.used[t.Name] = true
	}
	hostir.Walk(p.Body, func(s hostir.Stmt) bool {
		switch s := s.(type) {
		case *hostir.For:
			n.used[s.Var] = true
		case *hostir.GetCurrentStream:
			n.used[s.Var] = true
		}
		if h := hostir.Handle(s); h != "" {
			n.used[h] = true
		}
		return true
	})
	return n
}

// fresh gives name, or name_2, name_3, ... and takes it.
func (n *namer) fresh(name string) string {
	candidate := name
	for i := max(n.next[name], 2); n.used[candidate]; i++ {
		candidate = name + "_" + strconv.Itoa(i)
		n.next[name] = i + 1
	}
	n.used[candidate] = true
	return candidate
}
