package fromhost

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/extents"
	"github.com/hirgen/hirgen/calls/names"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// A builder turns one host program into calls.
type builder struct {
	program *hostir.Program
	spec    *hostir.Spec
	out     *calls.Described
	tensors []*hostir.Tensor // the tensors of out.Arguments, in their order
	sizes   []size           // of the program's GEMMs
	largest int64            // bytes of the largest communication
	// a pipeline uses compute streams
	pipelined bool
	names     *names.Table
	scope     *extents.Scope

	pairs     map[string]*hostir.Exchange // by handle: the exchange of a transfer through shared memory
	exchanges map[*hostir.Exchange]*exchange
	shares    map[shareKey]*share
	copies    map[*hostir.Tensor]extents.Quantity // by tensor: the number of buffers that a loop allocates for it

	coordinates map[string]string    // by mesh and axis: the name of this rank's coordinate
	along       []*coordinate        // this rank's coordinates along mesh axes that expressions use
	placed      map[string]expr.Expr // by mesh and text: the result of withCoordinates
	peersAt     map[string]peer      // by mesh and text: the peer with this expression
	named       []*repeated          // the repeats in scope, innermost last

	buffers   map[*hostir.Tensor]*buffer
	variables map[*hostir.Tensor]string // names of tensors in the emitted program, assigned on first use
	meshes    map[*domain.Mesh]string
	teams     map[teamKey]string
	guards    map[string]string // names of guards, by their ranks as text
	handles   map[string]*transfer
	waits     map[string]wording                  // by handle: the wording of its wait
	limited   map[string]*hostir.P2PCommunication // the result of function limited
	kernels   map[string]*calls.Kernel            // by the text of their computation
	labels    map[string]string                   // names of label constants, by text

	loops      []loop
	earlier    []earlierWait // waits for earlier iterations, to complete at the end of the outermost loop
	conditions []condition   // around the current statement
	guard      string        // the guard of the current statement; empty: all ranks run it
	inside     string        // the guard of the open group
	kept       string        // a note that waits for the next call
	skip       int           // number of following statements that the current statement has lowered, too
	declared   []*hostir.Tensor
	views      []calls.Stmt // declarations of views that the current statement uses first
	current    calls.Stream // stream of the current statement
	group      *transfer    // the open group of communications
	sum        string       // name of the current peer-read sum; empty: none
}

// A loop is a For around the current statement.
type loop struct {
	name  string
	count extents.Quantity // the loop ends before this number
	runs  extents.Quantity // number of iterations
	at    expr.Expr        // the selected iteration; nil: the current one, which the variable name has
}

// iteration returns the number of the selected iteration as an expression.
func (l loop) iteration() expr.Expr {
	if l.at != nil {
		return l.at
	}
	return expr.Var(l.name)
}

func newBuilder(p *hostir.Program, reserved []string) *builder {
	b := &builder{
		program: p, out: &calls.Described{Program: &calls.Program{Name: p.Name, File: p.File, Graph: isGraph(p)}}, names: names.NewTable(),
		scope: &extents.Scope{Values: map[string]int64{}, Names: map[string]string{}}, limited: limited(p.Body),
		pairs: hostir.Exchanges(p), exchanges: map[*hostir.Exchange]*exchange{}, shares: map[shareKey]*share{},
		copies: map[*hostir.Tensor]extents.Quantity{}, buffers: map[*hostir.Tensor]*buffer{}, variables: map[*hostir.Tensor]string{},
		meshes: map[*domain.Mesh]string{}, teams: map[teamKey]string{},
		guards: map[string]string{}, handles: map[string]*transfer{}, waits: map[string]wording{}, spec: hostir.SpecOf(p),
		coordinates: map[string]string{}, placed: map[string]expr.Expr{}, peersAt: map[string]peer{},
		kernels: map[string]*calls.Kernel{}, labels: map[string]string{}, current: calls.Stream{Name: calls.Caller},
	}
	b.names.Reserve(reserved...)
	return b
}

// constants declares the parameters and meshes.
func (b *builder) constants() {
	for _, p := range b.program.Params {
		name := b.names.Local(p.Name)
		d := &calls.Param{Name: name, Spec: p.Name, Value: p.Value}
		if p.Text != "" {
			d.From = b.scope.Raw(domain.Extent{Text: p.Text, Size: p.Value}).Expr
		}
		b.scope.Values[p.Name] = p.Value
		b.scope.Names[p.Name] = name
		b.out.Params = append(b.out.Params, d)
	}
	b.scope.Names["rank"] = "rank"
	for _, m := range b.program.Meshes {
		b.mesh(m)
	}
	b.scope.Parts = extents.NewParts(b.names, b.out.Meshes)
}

// mesh declares a mesh.
func (b *builder) mesh(m *domain.Mesh) {
	d := &calls.Mesh{Name: b.names.Local("mesh_" + m.Name), Label: m.Name}
	for i, a := range m.Axes {
		if i > 0 {
			d.Axes += ", "
		}
		extent := b.scope.Raw(a.Extent)
		d.Axes += a.Name + " of " + extent.String()
		d.Extents = append(d.Extents, extent.Expr)
	}
	for i, r := range m.Ranks {
		if i != r {
			d.Ranks = nil
			for _, rank := range m.Ranks {
				d.Ranks = append(d.Ranks, int64(rank))
			}
			break
		}
	}
	b.meshes[m] = d.Name
	b.out.Meshes = append(b.out.Meshes, d)
}

// arguments declares the caller's tensors: inputs, then outputs.
func (b *builder) arguments() {
	for _, role := range []hostir.Role{hostir.Input, hostir.Output} {
		for _, t := range b.program.Tensors {
			if t.Role != role {
				continue
			}
			name := b.variable(t)
			buf := b.newBuffer(t, name)
			b.buffers[t] = buf
			a := &calls.Argument{
				Name: name, Tensor: t.Name, Type: t.DType, Output: role == hostir.Output,
				Elements: buf.elements().Expr, Shape: buf.shape(),
			}
			if !b.everywhere(t) {
				a.Mesh = b.meshes[t.Mesh]
			}
			b.out.Arguments = append(b.out.Arguments, a)
			b.tensors = append(b.tensors, t)
		}
	}
}

// variable returns the name of a tensor in the emitted program. It chooses the name on first use.
func (b *builder) variable(t *hostir.Tensor) string {
	if name, ok := b.variables[t]; ok {
		return name
	}
	name := b.names.Local(t.Name)
	b.variables[t] = name
	return name
}

// coordinateName returns the name of this rank's coordinate along an axis of a mesh.
func (b *builder) coordinateName(m *domain.Mesh, axis int) string {
	key := b.meshes[m] + " " + expr.Int(axis).String()
	if b.coordinates[key] == "" {
		b.coordinates[key] = b.names.Local(m.Axes[axis].Name)
	}
	return b.coordinates[key]
}

func axisIndex(m *domain.Mesh, axis string) int {
	return max(0, slices.IndexFunc(m.Axes, func(a domain.MeshAxis) bool { return a.Name == axis }))
}
