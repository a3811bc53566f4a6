package hostir

import (
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/internal/base/lists"
)

// Namer makes names that are unique in a program, and tensors with such names. Tensors, meshes, parameters, handles, streams
// and loop variables share one name space, because they become identifiers of one emitted program.
type Namer struct {
	program *Program
	used    map[string]bool
	next    map[string]int // the first suffix to try, so that n clashes cost n steps
}

// NewNamer returns a Namer that does not return names in a program, nor "rank", "worker" and the caller's stream.
func NewNamer(p *Program) *Namer {
	n := &Namer{program: p, used: make(map[string]bool, len(p.Params)+len(p.Tensors)+len(p.Body)), next: map[string]int{}}
	lists.Mark(n.used, []string{"rank", "worker", Caller})
	for _, param := range p.Params {
		n.used[param.Name] = true
	}
	for _, m := range p.Meshes {
		n.used[m.Name] = true
	}
	for _, t := range p.Tensors {
		n.used[t.Name] = true
	}
	for s := range All(p.Body) {
		if s, ok := s.(*For); ok {
			n.used[s.Var] = true
		}
		if h := Handle(s); h != "" {
			n.used[h] = true
		}
	}
	return n
}

// Fresh returns the first unused name of name, name_2, name_3, ... and reserves it.
func (n *Namer) Fresh(name string) string {
	candidate := name
	for i := max(n.next[name], 2); n.used[candidate]; i++ {
		candidate = name + "_" + strconv.Itoa(i)
		n.next[name] = i + 1
	}
	n.used[candidate] = true
	return candidate
}

// Like returns a Temp with the type, axes, mesh, layout and position of t. It is not among the tensors of the program. The name is the
// name of t with a suffix.
func (n *Namer) Like(t *Tensor, suffix string) *Tensor {
	return &Tensor{
		Name: n.Fresh(t.Name + suffix), DType: t.DType, Axes: slices.Clone(t.Axes), Mesh: t.Mesh, Layout: slices.Clone(t.Layout),
		Pos: t.Pos,
	}
}

// Declare adds a Temp like t to the tensors of the program.
func (n *Namer) Declare(t *Tensor, suffix string) *Tensor {
	made := n.Like(t, suffix)
	n.program.Tensors = append(n.program.Tensors, made)
	return made
}
