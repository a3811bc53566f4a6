package emit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strings"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// A builder turns one host program into its view.
type builder struct {
	program *hostir.Program
	view    *programView
	names   *names
	scope   *scope

	pairs     map[string]*hostir.Exchange // transfers through shared memory, by handle
	exchanges map[*hostir.Exchange]*exchange
	shares    map[shareKey]*shareView
	arguments map[*hostir.Tensor]int      // the places of inputs and outputs among the caller's tensors
	copies    map[*hostir.Tensor]quantity // buffers of a tensor that a loop allocates
	terms     map[string]domain.Terms     // of the sums of the model's products, by operand

	used      map[*hostir.Tensor]bool
	buffers   map[*hostir.Tensor]*buffer
	variables map[*hostir.Tensor]string // C++ names of tensors, given once
	meshes    map[*domain.Mesh]string
	teams     map[teamKey]string
	guards    map[string]string // members, by the ranks
	streams   map[string]string // C++ names of stream variables
	handles   map[string]*transfer
	places    map[string]string // names of constants, by text
	derived   []string          // communications in words, for the summary

	loops    []loop
	earlier  []earlierWait    // of the outermost loop
	guard    string           // of the statement at hand: who runs it; empty for all
	declared []*hostir.Tensor // in the innermost statement list
	current  streamRef        // what the next statement runs on
	group    *transfer        // the open group of communications
	signals  *signalGroup     // the open group of transfers through shared memory

	kernels         bool // the program launches kernels of the runtime
	callerWorkspace bool // the caller's stream has memory for products
}

// A loop is a For around the statement at hand.
type loop struct {
	name  string
	count quantity  // one more than the last iteration
	runs  quantity  // iterations
	at    expr.Expr // the iteration that is meant; nil: the one at hand
}

// iteration is the number of the iteration that is meant.
func (l loop) iteration() expr.Expr {
	if l.at != nil {
		return l.at
	}
	return expr.Var(l.name)
}

// newProgramView decides everything about the emitted program, and about the one that runs
// otherwise.
func newProgramView(p *hostir.Program, opt Options) (*programView, error) {
	view, err := newFormView(p, "", opt)
	if err != nil || p.Otherwise == nil {
		return view, err
	}
	view.Otherwise, err = newFormView(p.Otherwise, "_nccl", opt)
	if err != nil {
		return nil, err
	}
	other := view.Otherwise
	other.Instead = view.File
	view.Summary = append(view.Summary, "Where ranks cannot share memory, "+other.File+" runs instead.")
	other.Summary = append(other.Summary, "Runs where ranks cannot share memory; where they can, "+view.File+" does.")
	return view, nil
}

// newFormView decides everything about one form of a program: what is made for it alone has
// names that end in suffix.
func newFormView(p *hostir.Program, suffix string, opt Options) (view *programView, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			if _, ok := caught.(errOverflow); !ok {
				panic(caught)
			}
			err = errorAt(diag.Pos{File: p.File}, "a buffer of this program has more elements than 64 bits count")
		}
	}()
	if !isProgramName(p.Name) {
		return nil, errorAt(diag.Pos{File: p.File}, "%q cannot name files, CMake targets and C functions", p.Name)
	}
	if len(p.Meshes) == 0 {
		return nil, internalError(diag.Pos{File: p.File}, "Program", "there is no mesh")
	}
	b := newBuilder(p)
	b.describe(suffix, opt)
	b.constants()
	if err := b.statements(); err != nil {
		return nil, err
	}
	return b.view, b.finish()
}

func newBuilder(p *hostir.Program) *builder {
	return &builder{
		program: p, view: &programView{}, names: newNames(),
		scope: &scope{values: map[string]int64{}, names: map[string]string{}},
		used:  usedTensors(p.Body),
		pairs: hostir.Exchanges(p), exchanges: map[*hostir.Exchange]*exchange{}, shares: map[shareKey]*shareView{},
		arguments: map[*hostir.Tensor]int{}, copies: map[*hostir.Tensor]quantity{},
		terms:   terms(p),
		buffers: map[*hostir.Tensor]*buffer{}, variables: map[*hostir.Tensor]string{},
		meshes: map[*domain.Mesh]string{}, teams: map[teamKey]string{}, guards: map[string]string{}, streams: map[string]string{},
		handles: map[string]*transfer{}, places: map[string]string{}, current: callersStream,
	}
}

// describe fills what comments and reports say about the program.
func (b *builder) describe(suffix string, opt Options) {
	v, p := b.view, b.program
	v.Name, v.Class, v.Namespace = p.Name, className(p.Name+suffix), "hirgen_"+p.Name
	v.File, v.Transport = p.Name+suffix+".cpp", p.Choices.Transport
	b.names.reserve(v.Class, v.Namespace, v.Name)
	v.Spec = path.Base(p.File)
	v.Version = opt.Version
	if v.Version == "" {
		v.Version = "devel"
	}
	v.HostIR = hostir.Print(p)
	sum := sha256.Sum256([]byte(v.HostIR))
	v.Digest = hex.EncodeToString(sum[:])
	v.Where = v.Spec + " " + v.Name
	v.Command = command(v.Spec, opt.Flags)
	banner := []string{
		"Code generated by hirgen from " + commentWord(v.Spec) + ". DO NOT EDIT.",
		"To regenerate: " + commentWord(v.Command),
	}
	v.Banner = comment(banner...)
	v.CBanner = "/* " + strings.Join(banner, "\n * ") + "\n */"
	v.CMakeBanner = "# " + strings.Join(banner, "\n# ")
	v.Graph = p.Choices.Graph
}

// command is the shell command that makes the folder again, run inside it.
func command(spec string, flags []string) string {
	words := append([]string{"hirgen", "emit", spec}, flags...)
	for i, w := range words {
		words[i] = shellWord(w)
	}
	return strings.Join(append(words, "-o", "."), " ")
}

// constants names the parameters, meshes and element types.
func (b *builder) constants() {
	for _, p := range b.program.Params {
		name := b.names.local(p.Name)
		b.scope.values[p.Name] = p.Value
		b.scope.names[p.Name] = name
		b.view.Params = append(b.view.Params, paramView{p.Name, name, p.Value})
	}
	b.scope.names["rank"] = "rank"
	for _, m := range b.program.Meshes {
		b.mesh(m)
	}
	seen := map[domain.DType]bool{}
	for _, t := range b.program.Tensors {
		seen[t.DType] = true
	}
	for _, d := range domain.DTypes {
		if !seen[d] {
			continue
		}
		b.view.Types = append(b.view.Types, cppTypes[d])
		if header := typeHeaders[cppTypes[d].Alias]; header != "" {
			b.view.TypeHeaders = append(b.view.TypeHeaders, header)
		}
	}
}

// mesh declares a mesh as a constant.
func (b *builder) mesh(m *domain.Mesh) {
	view := meshView{Name: b.names.local("mesh_" + m.Name)}
	var axes []string
	for _, a := range m.Axes {
		extent := b.scope.extent(a.Extent)
		view.Extents = append(view.Extents, extent.String())
		axes = append(axes, fmt.Sprintf("%s of %s", a.Name, extent))
	}
	for i, r := range m.Ranks {
		if i != r {
			view.Ranks = m.Ranks
		}
	}
	view.Comment = fmt.Sprintf("Mesh %s: %s ranks.", m.Name, strings.Join(axes, ", "))
	b.meshes[m] = view.Name
	b.view.Meshes = append(b.view.Meshes, view)
}

// statements binds the caller's tensors and prints the body.
func (b *builder) statements() error {
	index := 0
	for _, role := range []hostir.Role{hostir.Input, hostir.Output} {
		for _, t := range b.program.Tensors {
			if t.Role != role {
				continue
			}
			b.arguments[t] = index
			b.argument(t, index)
			index++
		}
	}
	body, err := b.list(b.program.Body)
	if err != nil {
		return err
	}
	b.view.Body = body
	if len(body) > 0 {
		b.view.Bindings = append(b.view.Bindings, &streamNode{})
	}
	if usesRank(b.program.Body) {
		b.view.Bindings = append(b.view.Bindings, &rankNode{"rank"})
	}
	b.view.Bindings = append(b.view.Bindings, b.beginCalls()...)
	return nil
}

// argument describes an input or output and binds its pointer.
func (b *builder) argument(t *hostir.Tensor, index int) {
	name := b.variable(t)
	buf := b.newBuffer(t, name)
	b.buffers[t] = buf
	view := tensorView{
		Name: t.Name, Var: name, Type: buf.typ, Axes: b.globalAxes(t), Shape: domain.FormatAxes(t.Axes) + b.onMesh(t),
		Local: buf.shape(), Present: b.present(t), Output: t.Role == hostir.Output, Where: at(t.Pos, ""), Contraction: b.contraction(t),
		Deviation: decimal(t.Deviation), Tolerance: decimal(t.Tolerance),
	}
	if view.Output {
		b.view.Outputs = append(b.view.Outputs, view)
	} else {
		b.view.Inputs = append(b.view.Inputs, view)
	}
	if b.used[t] {
		b.view.Bindings = append(b.view.Bindings, &bindNode{
			Const: t.Role == hostir.Input, Type: buf.typ.Alias, Name: name, Index: index, Shape: buf.shape(),
		})
	}
}

// variable is the C++ name of a tensor.
func (b *builder) variable(t *hostir.Tensor) string {
	if name, ok := b.variables[t]; ok {
		return name
	}
	name := b.names.local(t.Name)
	b.variables[t] = name
	return name
}

// coordinate names this rank's place along an axis of a mesh.
func (b *builder) coordinate(m *domain.Mesh, axis string) string {
	b.view.UsesRank = true
	mesh := b.meshes[m]
	want := coordinateView{Mesh: mesh, Axis: axisIndex(m, axis)}
	for _, c := range b.view.Coordinates {
		if c.Mesh == want.Mesh && c.Axis == want.Axis {
			return c.Name
		}
	}
	want.Name = b.names.local(axis)
	b.view.Coordinates = append(b.view.Coordinates, want)
	return want.Name
}

func axisIndex(m *domain.Mesh, axis string) int {
	for i, a := range m.Axes {
		if a.Name == axis {
			return i
		}
	}
	return 0
}

// finish fills what depends on the whole program.
func (b *builder) finish() error {
	v := b.view
	v.WorldSize = b.worldSize()
	v.Headers = b.headers()
	v.Summary = b.summary()
	v.Description = b.description()
	if v.Bytes.expr == nil {
		v.Bytes = number(0)
	}
	if v.Communication == "" {
		v.Communication = "none"
	}
	var err error
	if v.Reference, err = b.reference(); err != nil {
		return err
	}
	v.Runtime, err = runtimeFiles()
	return err
}

// worldSize is the number of ranks of the first mesh, which is the world.
func (b *builder) worldSize() quantity {
	size := number(1)
	for _, a := range b.program.Meshes[0].Axes {
		size = times(size, b.scope.extent(a.Extent))
	}
	return size
}

// headers lists the runtime headers that the program uses, sorted.
func (b *builder) headers() []string {
	list := []string{}
	if b.view.Graph {
		list = append(list, "hirgen/graph.hpp")
	}
	if b.view.Peers != "" {
		list = append(list, "hirgen/ipc.hpp")
	}
	if b.kernels {
		list = append(list, "hirgen/kernels.hpp")
	}
	if len(b.view.Plans) > 0 {
		list = append(list, "hirgen/matmul.hpp")
	}
	return append(list, "hirgen/mesh.hpp", "hirgen/tensor.hpp")
}
