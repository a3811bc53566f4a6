package model

import (
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// Builder makes a pipeline in Go. Its methods take names as text, and extents and axes in the syntax of a spec. Build
// runs the same checks as Load and returns the same Pipeline. A mistake is reported at the line of the call that made
// it.
//
//	b := model.New("ag_matmul").Param("D", 4).Param("M", 8192).Param("K", 8192).Param("N", 8192)
//	b.World().Axis("x", "D")
//	b.Tensor("A", "4", "DIDx", "M/(4*D)", "K")
//	b.Tensor("B", "K", "N")
//	b.Tensor("C", "Stream(4)", "D", "M/(4*D)", "N")
//	b.Matmul("C", "A", "B")
//	p, err := b.Build()
type Builder struct {
	src  source
	list diag.List
	at   *diag.Pos // the position that At has set, or nil
}

// New starts a pipeline.
func New(name string) *Builder {
	b := &Builder{}
	pos := b.pos()
	b.src.file, b.src.pos = pos.File, pos
	b.src.name = text{value: name, pos: pos}
	return b
}

// At sets the position of everything that the following calls add. It is for programs that translate another
// language. The file is reduced to its base name.
func (b *Builder) At(file string, line, col int) *Builder {
	b.at = &diag.Pos{File: filepath.Base(file), Line: line, Col: col}
	return b
}

// pos returns the position that At has set, or else the position of the caller: the first frame outside New and the methods
// of builders.
func (b *Builder) pos() diag.Pos {
	if b.at != nil {
		return *b.at
	}
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if name, own := strings.CutPrefix(f.Function, packagePath); !own || !strings.Contains(name, "Builder)") && name != "New" {
			return diag.Pos{File: filepath.Base(f.File), Line: f.Line}
		}
		if !more {
			return diag.Pos{}
		}
	}
}

// packagePath begins the name of every function of this package.
const packagePath = "github.com/hirgen/hirgen/model."

// text returns value with the position that b.pos returns.
func (b *Builder) text(value string) text { return text{value: value, pos: b.pos()} }

func (b *Builder) texts(values []string) []text {
	pos := b.pos()
	return lists.Map(values, func(value string) text { return text{value: value, pos: pos} })
}

// File sets the name of the source that generated files mention, of which it keeps the base name. The default is the base
// name of the Go file that called New.
func (b *Builder) File(name string) *Builder {
	b.src.file = filepath.Base(name)
	return b
}

// Doc sets the description of the pipeline.
func (b *Builder) Doc(doc string) *Builder {
	b.src.doc = doc
	return b
}

// Param adds a named integer of at least 1.
func (b *Builder) Param(name string, value int64) *Builder {
	b.src.params = append(b.src.params, sourceParam{b.text(name), b.text(strconv.FormatInt(value, 10))})
	return b
}

// Derived adds a parameter that depends on earlier parameters by an expression: "M/2".
func (b *Builder) Derived(name, expression string) *Builder {
	b.src.params = append(b.src.params, sourceParam{b.text(name), b.text(expression)})
	return b
}

// DType sets the element type of declared tensors without an explicit type. The default is bf16.
func (b *Builder) DType(dtype domain.DType) *Builder {
	b.src.dtype = b.text(string(dtype))
	return b
}

// MeshBuilder adds axes to a mesh.
type MeshBuilder struct {
	b    *Builder
	mesh *sourceMesh
}

// World starts the mesh of all ranks, 0, 1, 2, ...
func (b *Builder) World() *MeshBuilder {
	b.src.world = &sourceMesh{pos: b.pos()}
	return &MeshBuilder{b, b.src.world}
}

// Mesh starts a named mesh of the given ranks, row-major over its axes. The default ranks are 0, 1, 2, ...
func (b *Builder) Mesh(name string, ranks ...int) *MeshBuilder {
	m := &sourceMesh{name: b.text(name), pos: b.pos()}
	for _, r := range ranks {
		m.ranks = append(m.ranks, b.text(strconv.Itoa(r)))
	}
	b.src.meshes = append(b.src.meshes, m)
	return &MeshBuilder{b, m}
}

// Axis adds an axis "x", "y" or "z"; the last one added varies fastest.
func (m *MeshBuilder) Axis(name, extent string) *MeshBuilder {
	m.mesh.axes = append(m.mesh.axes, sourceMeshAxis{m.b.text(name), m.b.text(extent)})
	return m
}

// TensorBuilder sets the properties of a tensor other than its axes.
type TensorBuilder struct {
	b      *Builder
	tensor *sourceTensor
}

// Tensor declares a tensor with its axes: "M/D", "DIDx", "Stream(S)", "r(K)", "b(1)".
func (b *Builder) Tensor(name string, axes ...string) *TensorBuilder {
	t := &sourceTensor{name: b.text(name), axes: b.texts(axes), pos: b.pos()}
	b.src.tensors = append(b.src.tensors, t)
	return &TensorBuilder{b, t}
}

// DType sets the element type.
func (t *TensorBuilder) DType(dtype domain.DType) *TensorBuilder {
	t.tensor.dtype = t.b.text(string(dtype))
	return t
}

// On places the tensor on a named mesh.
func (t *TensorBuilder) On(mesh string) *TensorBuilder {
	t.tensor.mesh = t.b.text(mesh)
	return t
}

// Outputs lists the outputs. The default is all results that no operation reads.
func (b *Builder) Outputs(names ...string) *Builder {
	b.src.outputs = b.texts(names)
	return b
}

// Fill sets the values of an input in checks: one of domain.Fills.
func (b *Builder) Fill(input, fill string) *Builder {
	b.src.fills = append(b.src.fills, sourceParam{name: b.text(input), value: b.text(fill)})
	return b
}

// Schedule sets one field of the schedule. A field of the program is named alone: "streams". A field of a
// communication follows the name of the tensor that it transfers, or "all": "X.split", "all.via". The value is
// spelled as in a spec.
func (b *Builder) Schedule(path, value string) *Builder {
	b.src.scheduled = true
	of, field := schedule.SplitPath(path)
	f := sourceField{name: b.text(field), value: b.text(value)}
	if of != "" {
		f.of = b.text(of)
	}
	b.src.schedule = append(b.src.schedule, f)
	return b
}

// Build checks everything and makes the pipeline. An error is a *diag.Errors with all mistakes found. The caller may
// continue to add to the builder and build again.
func (b *Builder) Build() (*Pipeline, error) { return b.BuildWith(nil) }

// BuildWith is Build with other values for some parameters, like the overrides of Load.
func (b *Builder) BuildWith(params map[string]int64) (*Pipeline, error) {
	var list diag.List
	p := assemble(&b.src, params, &list)
	list.Append(b.list.Items()...)
	if err := list.Err(); err != nil {
		return nil, err
	}
	return p, nil
}
