package emit

import "strings"

// A node is one statement or member of the emitted program: a view with the
// template that spells it. By the time a node exists, everything about it is
// decided; its fields are C++ text, or data that the template escapes.
type node interface {
	template() string
}

// programView is what the templates of the files see.
type programView struct {
	Name        string // of the program: names files, targets and functions
	Namespace   string
	Class       string
	Spec        string // base name of the spec
	Version     string // of hirgen
	Command     string // that makes this folder again
	Banner      string // of a C++ file
	CBanner     string // of a C file
	CMakeBanner string
	Summary     []string // what is computed and what was derived, a line each
	Description string   // the operations in one line
	Digest      string   // of the host IR text
	HostIR      string
	File        string // that the program is printed to
	Transport   string // "nccl", "ipc-get", "ipc-put"
	Where       string // of the program as a whole, for run-time errors

	TypeHeaders []string // of CUDA
	Headers     []string
	Params      []paramView
	Workers     int  // worker streams that the program uses
	Workspaces  bool // each with memory for GEMMs
	Types       []cppType
	Meshes      []meshView
	Shapes      []shapeView
	Labels      []labelView
	Graph       bool

	sharing
	Guards, Teams, Buffers, Plans, Events []node // data members
	Bindings                              []node // of the caller's pointers, then the rank
	Body                                  []node

	UsesRank       bool // the tensors differ from rank to rank
	Coordinates    []coordinateView
	Inputs         []tensorView
	Outputs        []tensorView
	WorldSize      quantity
	Gemms          []gemmView
	Communications []string // literals: kind, mesh axis and mesh of each one
	Bytes          quantity // of the largest one
	Largest        string   // its kind; empty where there is none
	Team           string   // its ranks, of a collective; empty for other communications

	Reference []refView
	Runtime   []File

	Fallback *programView // the variant where not all ranks can share memory; nil: there is none
	Instead  string       // the file of the program that this is the fallback variant of; empty: it is none
}

// variants are the program, and its fallback variant where there is one.
func (v *programView) variants() []*programView {
	if v.Fallback == nil {
		return []*programView{v}
	}
	return []*programView{v, v.Fallback}
}

// Workspace is what errors call the memory of the workers' GEMMs.
func (v *programView) Workspace() string { return v.Where + " workspace" }

// Tensors lists inputs, then outputs: the order of the caller's pointers.
func (v *programView) Tensors() []tensorView {
	return append(append([]tensorView(nil), v.Inputs...), v.Outputs...)
}

// paramView is a parameter of the spec.
type paramView struct {
	Spec, Name string // as the spec and as C++ names it
	Value      int64
}

// meshView is a mesh as a constant: `const hirgen::Mesh mesh({D}, {0, 1, 2, 3});`.
type meshView struct {
	Name    string
	Extents []string
	Ranks   []int // empty for 0, 1, 2, ...
	Comment string
}

// shapeView is the shape of a GEMM as a constant.
type shapeView struct {
	Name   string
	Fields []fieldView
}

// Definition prints the shape as a constant: its fields on one line or, if there is no room, each
// on its own.
func (s shapeView) Definition() string {
	fields := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		fields[i] = "." + f.Name + " = " + f.Value
	}
	head := "constexpr hirgen::MatmulShape " + s.Name + " = {"
	inner := "    " + strings.Join(fields, ", ")
	if width(inner)+len("};") > columns {
		inner = "    " + strings.Join(fields, ",\n    ") + ",\n"
	}
	return head + "\n" + inner + "};"
}

// labelView is what errors call a statement, as a constant.
type labelView struct{ Name, Text string }

// coordinateView is this rank's coordinate along a mesh axis.
type coordinateView struct {
	Name, Mesh string
	Axis       int
}

// tensorView is one tensor of the interface.
type tensorView struct {
	Name        string // of the spec
	Var         string // C++
	Type        cppType
	Axes        []string // initialisers of hirgen::Axis
	Shape       string   // in words of the spec, for comments
	Local       string   // one rank's buffer
	Present     string   // C++ of whether a rank has a part of it; empty when every rank has
	Output      bool
	Where       string
	Contraction string // of the GEMMs that read an input; empty for 1
	Deviation   string // of normal values that fill an input; empty for 1
	Tolerance   string // of an output's check; empty where it is exact
}

// gemmView is the GEMM that one rank computes in a call.
type gemmView struct {
	M, N, K, Batch quantity
}

// refView is one line of the reference program.
type refView struct {
	Method string
	Args   []string
	Where  string
}

// The data members of the program.
type (
	// teamMember is the ranks along a mesh axis.
	teamMember struct {
		Name, Mesh, MeshAxis string
		Axis                 int
		Where                string
	}
	// bufferMember is the memory of a Temp, on the ranks that hold it.
	bufferMember struct {
		Name, Type, Elements, Shape, Where string
		Guard                              string
	}
	// workspaceMember is the memory of GEMMs on the caller's stream.
	workspaceMember struct{ Where string }
	// planMember is a GEMM's cuBLASLt plan.
	planMember struct {
		Name, Shape, Where string
	}
	// eventsMember is the events that one statement records.
	eventsMember struct {
		Name, Label, Count, Where string
	}
)

// fieldView is a designated initialiser.
type fieldView struct{ Name, Value string }

func (*teamMember) template() string      { return "member/team" }
func (*bufferMember) template() string    { return "member/buffer" }
func (*planMember) template() string      { return "member/plan" }
func (*workspaceMember) template() string { return "member/workspace" }
func (*eventsMember) template() string    { return "member/events" }

// GemmList prints the GEMMs of a call as initialisers.
func (v *programView) GemmList() []string {
	var list []string
	for _, p := range v.Gemms {
		list = append(list, braces(texts([]quantity{p.M, p.N, p.K, p.Batch})...))
	}
	return list
}

// ParameterList prints the parameters with the names that the spec gives them.
func (v *programView) ParameterList() []string {
	var list []string
	for _, p := range v.Params {
		list = append(list, braces(cstr(p.Spec), p.Name))
	}
	return list
}
