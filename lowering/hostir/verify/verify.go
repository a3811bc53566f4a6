// Package verify checks the invariants of a host program: operands of statements, lifetimes of buffers, waits, and exchanges
// between ranks.
package verify

import (
	"fmt"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/internal/base/scan"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/model/domain"
)

// Invariant is a condition that is true for every program, from the first pass to the last. Some invariants, such
// as those on allocation, apply only once the program has Allocate statements.
type Invariant struct {
	Name string
	Text string
}

// Invariants lists invariants that Program checks. A message starts with the name of the broken invariant, or with "leak" if a
// buffer is not freed.
var Invariants = []Invariant{
	{"names", "every tensor, parameter, loop variable and handle has a name of its own that is an identifier"},
	{"declared", "a statement names tensors and meshes of the program"},
	{"domain", "axes are positive and agree with their mesh; a layout is a permutation of them"},
	{"view", "a view is made before it is used"},
	{"buffer", "a buffer is allocated once, before its use, and freed at most once, after its last"},
	{"written", "inputs are not written, and every output is"},
	{"stream", "what is one operation, as a group and a sum are, is issued to one stream"},
	{"scope", "an expression uses parameters, the rank and loop variables of enclosing loops"},
	{"range", "an index, a peer, a root or a worker's number is within range"},
	{"wait", "a communication is waited for, once, after it was started"},
	{"shared", "a transfer over CUDA IPC is paired with its counterpart before it starts; the owner of the buffer stands first"},
	{"sum", "a sum over peers holds receives over IPC-get into its result, sends of that over IPC-put, and what names their memory"},
	{"group", "a group holds communications, none of them over CUDA IPC, and is closed where it was opened"},
	{"shape", "operands and results of a statement fit each other"},
	{"communication", "a communication's type is what its domains say"},
	{"local", "a statement that computes has all of its operands on the ranks of its result, and the parts of a rank fit each other"},
	{"fallback", "the fallback variant has the same inputs, outputs and reference, and shares memory within nodes alone"},
	{"locality", "what is sent or received intra-node is sent or received inter-node, too"},
}

// Program checks all invariants of a program, and of its fallback variant, and returns the breaches as *diag.Errors. After a wrong
// name, axis, layout or declaration it checks nothing else.
func Program(p *hostir.Program) error {
	v := &verifier{program: p, bounds: newBounds(p), lowered: hostir.Allocates(p)}
	v.names()
	v.domains()
	for s := range hostir.All(p.Body) {
		v.declared(s, hostir.Mentions(s))
	}
	views := v.views()
	for _, t := range views {
		if !hostir.Is[*hostir.Either](t.Of) {
			v.declared(t.Of, hostir.Uses(t.Of))
		}
	}
	if v.errors.Len() > 0 {
		return v.errors.Err() // the following checks need valid declarations
	}
	for s := range hostir.All(p.Body) {
		v.operation(s)
	}
	for _, t := range views {
		v.operation(t.Of)
		v.namesMemory(t.Of)
	}
	v.shared()
	v.localities()
	v.flow()
	v.fallback()
	return v.errors.Err()
}

type verifier struct {
	program *hostir.Program
	bounds  *bounds
	lowered bool // buffers are allocated, so the invariants on them hold
	errors  diag.List
	tensors map[*hostir.Tensor]bool
	meshes  map[*domain.Mesh]bool
}

// views lists the views that statements name, and the views that these are made of.
func (v *verifier) views() []*hostir.Tensor {
	var list []*hostir.Tensor
	seen := map[*hostir.Tensor]bool{}
	for s := range hostir.All(v.program.Body) {
		hostir.Views(s, func(t *hostir.Tensor) {
			if !seen[t] {
				seen[t] = true
				list = append(list, t)
			}
		})
	}
	return list
}

// breach reports a statement that breaks an invariant.
func (v *verifier) breach(s hostir.Stmt, invariant, format string, args ...any) {
	v.breachAt(s.Meta().Pos, invariant, format, args...)
}

func (v *verifier) breachAt(pos diag.Pos, invariant, format string, args ...any) {
	v.errors.Add(pos, diag.HostIRInvalid, "%s: %s", invariant, fmt.Sprintf(format, args...))
}

func (v *verifier) names() {
	seen := map[string]string{"rank": "the scalar rank"}
	take := func(pos diag.Pos, name, what string) {
		if !scan.IsName(name) {
			v.breachAt(pos, "names", "%q, the name of %s, is no identifier", name, what)
		}
		if other, taken := seen[name]; taken && other != what {
			v.breachAt(pos, "names", "%s has the name of %s", what, other)
		}
		seen[name] = what
	}
	for _, param := range v.program.Params {
		take(diag.Pos{}, param.Name, "parameter "+param.Name)
	}
	delete(seen, "rank") // a tensor may have the name rank, because expressions do not mention tensors
	v.tensors = map[*hostir.Tensor]bool{}
	for i, t := range v.program.Tensors {
		take(t.Pos, t.Name, fmt.Sprintf("tensor %s (number %d)", t.Name, i))
		v.tensors[t] = true
	}
	seen["rank"] = "the scalar rank"
	number := 0
	for s := range hostir.All(v.program.Body) {
		number++
		switch s := s.(type) {
		case *hostir.For:
			take(s.Pos, s.Var, "loop variable "+s.Var)
		default:
			if h := hostir.Handle(s); h != "" {
				take(s.Meta().Pos, h, fmt.Sprintf("%s %s (statement %d)", hostir.Op(s), h, number))
			}
		}
	}
}

func (v *verifier) domains() {
	v.meshes = map[*domain.Mesh]bool{}
	lists.Mark(v.meshes, v.program.Meshes)
	for _, t := range v.program.Tensors {
		v.domain(t)
		v.layout(t)
	}
}

func (v *verifier) domain(t *hostir.Tensor) {
	if t.Mesh != nil && !v.meshes[t.Mesh] {
		v.breachAt(t.Pos, "declared", "tensor %s is on a mesh that the program does not declare", t.Name)
	}
	split := map[string]bool{}
	for i, a := range t.Axes {
		if a.Size < 1 {
			v.breachAt(t.Pos, "domain", "axis %d of %s has %d elements", i, t.Name, a.Size)
		}
		if a.Kind != domain.Device {
			continue
		}
		switch {
		case t.Mesh == nil || t.Mesh.Axis(a.Mesh) == nil:
			v.breachAt(t.Pos, "domain", "axis %d of %s is split over mesh axis %s, which its mesh does not have", i, t.Name, a.Mesh)
		case t.Mesh.Axis(a.Mesh).Size != a.Size:
			v.breachAt(t.Pos, "domain", "axis %d of %s has %d elements over the %d ranks of mesh axis %s",
				i, t.Name, a.Size, t.Mesh.Axis(a.Mesh).Size, a.Mesh)
		case split[a.Mesh]:
			v.breachAt(t.Pos, "domain", "two axes of %s are split over mesh axis %s", t.Name, a.Mesh)
		}
		split[a.Mesh] = true
	}
}

func (v *verifier) layout(t *hostir.Tensor) {
	if t.Layout == nil {
		return
	}
	seen := make([]bool, len(t.Axes))
	ok := len(t.Layout) == len(t.Axes)
	for _, a := range t.Layout {
		ok = ok && a >= 0 && a < len(seen) && !seen[a]
		if ok {
			seen[a] = true
		}
	}
	if !ok {
		v.breachAt(t.Pos, "domain", "the layout %s of %s is no permutation of its %d axes", text.Numbers(t.Layout), t.Name, len(t.Axes))
	}
}

// declared checks that no tensor of a statement is nil, and that the program declares these tensors and the mesh of a
// Communication.
func (v *verifier) declared(s hostir.Stmt, tensors []*hostir.Tensor) {
	for _, t := range tensors {
		switch {
		case t == nil:
			v.breach(s, "declared", "%s lacks an operand", hostir.Op(s))
		case !v.tensors[t]:
			v.breach(s, "declared", "%s names tensor %s, which the program does not declare", hostir.Op(s), t.Name)
		}
	}
	if c, ok := s.(*hostir.Communication); ok && !v.meshes[c.Mesh] {
		v.breach(c, "declared", "the mesh of %s is not one of the program's", c.Handle)
	}
}
