package emit

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/domain"
)

// A pythonView has the data of the files of the PyTorch package that a programView lacks.
type pythonView struct {
	Version    string // version of the package
	Programs   []pythonProgram
	Constants  []string // names of Python constants, one for each program
	Targets    []string // names of CMake targets, in double quotes
	Parameters []string // parameters of the package's function
	Arguments  []string // arguments that the function passes on to the operator
	Lines      []string // lines of the function's documentation, one for each tensor
	Layer      string   // text that names the weights; empty if there is no class Layer
	Backward   bool
	// BackwardAttends is true if the program of the gradient computes attention.
	BackwardAttends bool
}

// A pythonProgram is the description of one program in Python.
type pythonProgram struct {
	Constant, Name, Digest string
	Ranks                  int
	Inputs, Outputs        []string // constructor calls of Tensor
}

// A pythonTensor is a tensor of the interface as PyTorch has it on one rank.
type pythonTensor struct {
	name   string
	dtype  string
	shape  []int64
	splits []pythonSplit
	ranks  []int // ranks that have the tensor; empty: all ranks
	weight bool
	shared bool
	output bool
	// gradientOf names the tensor of the forward program that this tensor of the backward program is the gradient of.
	gradientOf string
}

// A pythonSplit says that an axis, counted from 0, is split over ranks: a rank has shard number rank / stride % parts.
type pythonSplit struct {
	axis          int
	parts, stride int64
}

// pythonWords are the names that no argument can have: Python's keywords, and "group", an argument of each function.
var pythonWords = strings.Fields(`False None True and as assert async await break class continue def del elif else except finally for
	from global if import in is lambda nonlocal not or pass raise return try while with yield group`)

// takenPackages are names that the package defines, or that the package or its users import.
var takenPackages = []string{"torch", "hirgen", "runtime", "join", "close"}

// addPython fills the view of the program's PyTorch package. If backward is not nil, the package also calls that program of
// the gradient, and roles are its roles (see Backward).
func (v *programView) addPython(backward *programView, roles map[string]string) error {
	if slices.Contains(pythonWords, v.Name) || slices.Contains(takenPackages, v.Name) {
		return errorAt(diag.Pos{File: v.Program.File}, "%q cannot name a Python package of its own: give the spec another name", v.Name)
	}
	tensors, err := pythonTensors(v)
	if err != nil {
		return err
	}
	// A local version identifier may contain letters and digits.
	python := &pythonView{Version: "1+" + v.Digest[:12], Backward: backward != nil}
	python.add("_FORWARD", v, tensors)
	var weights []string
	takes := false
	for _, t := range tensors {
		python.Lines = append(python.Lines, t.line())
		switch {
		case t.output:
		case t.weight:
			weights = append(weights, t.name)
			fallthrough
		default:
			python.Arguments = append(python.Arguments, t.argument())
			takes = takes || !t.weight
		}
	}
	python.Parameters = python.Arguments
	if takes && len(weights) > 0 {
		python.Layer = "its parameters are " + strings.Join(weights, ", ")
	}
	if backward != nil {
		python.BackwardAttends = backward.Attends()
		other, err := pythonTensors(backward)
		if err != nil {
			return err
		}
		for _, t := range append(slices.Clone(tensors), other...) {
			if len(t.ranks) > 0 {
				return errorAt(diag.Pos{File: v.Program.File}, "%s is on some of the ranks: a Python package has no gradient of it", t.name)
			}
		}
		if err := pairGradients(backward.Program.File, roles, tensors, other); err != nil {
			return err
		}
		for i := range other {
			other[i].weight = false // only the forward program has a module with weights
		}
		python.add("_BACKWARD", backward, other)
	}
	v.Python = python
	return nil
}

func (v *pythonView) add(constant string, program *programView, tensors []pythonTensor) {
	description := pythonProgram{Constant: constant, Name: program.Name, Digest: program.Digest[:16], Ranks: program.Ranks}
	for _, t := range tensors {
		if t.output {
			description.Outputs = append(description.Outputs, t.call())
		} else {
			description.Inputs = append(description.Inputs, t.call())
		}
	}
	v.Programs = append(v.Programs, description)
	v.Constants = append(v.Constants, constant)
	v.Targets = append(v.Targets, strconv.Quote("hirgen_"+program.Name))
}

// pythonTensors returns the tensors of the interface, inputs first.
func pythonTensors(v *programView) ([]pythonTensor, error) {
	for i, rank := range v.About.World.Ranks {
		if rank != i {
			return nil, errorAt(diag.Pos{File: v.Program.File}, "the ranks of the mesh are not in order: there is no Python package of that")
		}
	}
	var list []pythonTensor
	for _, t := range v.Tensors {
		tensor := pythonTensor{
			name: t.Name, dtype: "torch." + t.Tensor.Type.Row().Torch, output: t.Output,
			weight: !t.Output && t.Present == "" && isWeight(v.About.Operations, t.Name), shared: v.IsShared(t.Var),
		}
		if t.Present != "" {
			tensor.ranks = t.Mesh.Ranks
		}
		tensor.describe(t.Tensor, v.About.World)
		list = append(list, tensor)
	}
	return list, nil
}

// describe fills in the shape on one rank, and the axes that are split over the ranks.
func (t *pythonTensor) describe(tensor *calls.Tensor, world *domain.Mesh) {
	mesh := tensor.Mesh
	if mesh == nil {
		mesh = world
	}
	var kept []domain.Axis
	at := map[int]int{} // number of kept axes before a device axis, by its index in Live
	for i, a := range tensor.Live {
		switch {
		case a.Kind == domain.Device:
			at[i] = len(kept)
		case !a.Absent:
			kept = append(kept, a.Axis)
			t.shape = append(t.shape, a.LocalSize())
		}
	}
	for i, a := range tensor.Live {
		if after, found := at[i]; found {
			axis, stride := splitAxis(kept, after, a.Axis), strideOf(mesh, a.Mesh)
			switch {
			case axis >= len(kept):
			case stride == 0:
				t.weight = false // the class Layer could not tell which part a rank has
			default:
				t.splits = append(t.splits, pythonSplit{axis, a.Size, int64(stride)})
			}
		}
	}
}

// splitAxis returns the index of the axis that a device axis splits. It is the axis whose extent is written as a
// quotient with the device axis's extent as divisor ("N/D"), or else the axis after the device axis.
func splitAxis(kept []domain.Axis, after int, device domain.Axis) int {
	divides := regexp.MustCompile(`/.*\b` + regexp.QuoteMeta(device.Extent.String()) + `\b`)
	for i, a := range kept {
		if divides.MatchString(a.Text) {
			return i
		}
	}
	return after
}

// strideOf returns the number for which rank / stride % size is the coordinate of every rank of a mesh along an axis. It
// returns 0 if there is none, because of the order of the ranks.
func strideOf(m *domain.Mesh, axis string) int {
	size := int(m.Axis(axis).Size)
	for stride := 1; stride <= max(1, slices.Max(m.Ranks)); stride++ {
		if !slices.ContainsFunc(m.Ranks, func(rank int) bool { return rank/stride%size != m.Coordinate(rank, axis) }) {
			return stride
		}
	}
	return 0
}

// layerForm matches rms_norm, layer_norm, linear and scaled_linear, which stand for several primitive operations. Its
// groups are the operands that are parameters: those after the first operand, and for scaled_linear those after the
// first operand and its scales.
var layerForm = regexp.MustCompile(` = (?:rms_norm|layer_norm|linear)\([^,]*, ([^)]*)\)$| = scaled_linear\([^,]*, [^,]*, ([^)]*)\)$`)

// isWeight reports whether an input is a parameter of a linear layer or of a norm.
func isWeight(operations []domain.Operation, input string) bool {
	return slices.ContainsFunc(operations, func(op domain.Operation) bool {
		if found := layerForm.FindStringSubmatch(op.Whole); found != nil {
			return slices.Contains(strings.Split(found[1]+found[2], ", "), input)
		}
		return op.Kind == "linear" && slices.Contains(op.In[1:], input)
	})
}

// argument returns the name of a tensor as a Python parameter, with an underscore after a name of pythonWords.
func (t pythonTensor) argument() string {
	if slices.Contains(pythonWords, t.name) {
		return t.name + "_"
	}
	return t.name
}

// call returns the constructor call of a tensor.
func (t pythonTensor) call() string {
	parts := []string{strconv.Quote(t.name), tuple(t.shape), t.dtype}
	if len(t.splits) > 0 {
		var splits []string
		for _, s := range t.splits {
			splits = append(splits, fmt.Sprintf("Split(axis=%d, parts=%d, stride=%d),", s.axis, s.parts, s.stride))
		}
		parts = append(parts, "splits=("+strings.Join(splits, " ")+")")
	}
	if len(t.ranks) > 0 {
		parts = append(parts, "ranks="+tuple(t.ranks))
	}
	if t.weight {
		parts = append(parts, "weight=True")
	}
	if t.shared {
		parts = append(parts, "shared=True")
	}
	if t.gradientOf != "" {
		parts = append(parts, "gradient_of="+strconv.Quote(t.gradientOf))
	}
	return "Tensor(" + strings.Join(parts, ", ") + ")"
}

// line describes a tensor in the documentation of the package's function.
func (t pythonTensor) line() string {
	role := "input"
	if t.output {
		role = "output"
	}
	shape := strings.ReplaceAll(fmt.Sprint(t.shape), " ", ", ")
	line := fmt.Sprintf("%s %s: %s %s", role, t.name, strings.TrimPrefix(t.dtype, "torch."), shape)
	if len(t.ranks) > 0 {
		line += " on ranks " + strings.Trim(tuple(t.ranks), "(,)") + "; None on the others"
	}
	return line
}

// tuple prints numbers as a Python tuple.
func tuple[N int | int64](list []N) string {
	text := intList(list)
	text = strings.Trim(text, "{}")
	if len(list) == 1 {
		text += ","
	}
	return "(" + text + ")"
}
