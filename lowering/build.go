package lowering

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/eval"
	"github.com/hirgen/hirgen/model/schedule"
)

// Build returns the first host IR of a pipeline: one statement per operation, in the model's order, on whole logical
// tensors. If the bias of a linear has another element type than the result, Build inserts a Cast of the bias, because
// the bias is added before the sum is rounded. The host IR names no stream and allocates no buffer. Communication is
// still implicit: a statement whose operands and result are sharded differently needs some.
func Build(p *model.Pipeline) (*hostir.Program, error) {
	b := &builder{tensors: make(map[*model.Tensor]*hostir.Tensor, len(p.Tensors))}
	b.program = &hostir.Program{
		Name: p.Name, File: p.File, Meshes: p.Meshes,
		Streams: int(schedule.Number(p.Schedule.Get(schedule.Streams))), Choices: hostir.Choices{Schedule: p.Schedule}, Auto: auto(p.Schedule),
	}
	for _, param := range p.Params {
		b.program.Params = append(b.program.Params, hostir.Param{Name: param.Name, Value: param.Value, Text: param.Text})
	}
	b.declare(p)
	b.checks(p)
	for _, op := range eval.Saved(p) {
		b.program.Saved = append(b.program.Saved, reference(op))
	}
	whole := map[*model.Op]*model.WrittenOp{}
	for _, w := range p.Written {
		for _, op := range w.Ops {
			if len(w.Ops) > 1 || len(w.Attrs) > 0 {
				whole[op] = w
			}
		}
	}
	for _, op := range p.Ops {
		b.statement(op)
		ref := reference(op)
		if w := whole[op]; w != nil {
			ref.Whole = w.String()
			if part, _, _ := strings.Cut(op.Whole, "("); part != w.Fn {
				ref.Part = part
			}
		}
		b.program.Reference = append(b.program.Reference, ref)
	}
	return b.program, b.errors.Err()
}

type builder struct {
	program *hostir.Program
	tensors map[*model.Tensor]*hostir.Tensor
	errors  diag.List
	names   *hostir.Namer // names for tensors that are not in the model; nil until the first is needed
}

// auto returns the request to choose the schedule fields that the spec does not set, with the paths of the fields that it
// sets. The request is nil unless the schedule has preset: auto.
func auto(s schedule.Schedule) *hostir.Auto {
	if s.Get(schedule.Preset) != schedule.Auto {
		return nil
	}
	a := &hostir.Auto{}
	for _, c := range s.Stated() {
		if c.Path() != schedule.Preset {
			a.Given = append(a.Given, c.Path())
		}
	}
	return a
}

// declare lists the tensors: inputs, then outputs, then intermediate results.
func (b *builder) declare(p *model.Pipeline) {
	add := func(list []*model.Tensor, role hostir.Role) {
		for _, t := range list {
			if b.tensors[t] != nil {
				continue
			}
			b.tensors[t] = &hostir.Tensor{
				Name: t.Name, DType: t.DType, Axes: axes(t.Axes), Mesh: t.Mesh,
				Role: role, Inferred: !t.Annotated, Pos: t.Pos,
			}
			if role != hostir.Temp {
				b.tensors[t].Absent = absent(t)
			}
			b.program.Tensors = append(b.program.Tensors, b.tensors[t])
		}
	}
	add(p.Inputs, hostir.Input)
	add(p.Outputs, hostir.Output)
	add(p.Tensors, hostir.Temp)
}

// absent lists the indices of the axes that a tensor lacks in PyTorch: axes that are split over a single rank, and all
// axes of a tensor declared without axes.
func absent(t *model.Tensor) []int {
	var list []int
	for i, a := range t.Axes {
		if t.Scalar || a.Kind == domain.Device && a.Size == 1 {
			list = append(list, i)
		}
	}
	return list
}

// axes copies axes. It clears the text of an extent that is a plain number, as text.Parse does.
func axes(list []domain.Axis) []domain.Axis {
	list = slices.Clone(list)
	for i := range list {
		if _, err := strconv.ParseInt(list[i].Text, 10, 64); err == nil {
			list[i].Text = ""
		}
	}
	return list
}

func (b *builder) statement(op *model.Op) {
	in := lists.Map(op.In, func(t *model.Tensor) *hostir.Tensor { return b.tensors[t] })
	if out := b.tensors[op.Out]; op.Kind == model.OpLinear && len(in) > 2 && in[2].DType != out.DType {
		in[2] = b.cast(op, in[2], out.DType)
	}
	s := statement(op, in, b.tensors[op.Out])
	if a, ok := s.(*hostir.Attention); ok {
		for _, t := range op.More {
			a.Out = append(a.Out, b.tensors[t])
		}
	}
	b.program.Body = append(b.program.Body, s)
}

// cast appends a Cast of an operand to another type, and returns its result, a new Temp with the operand's axes.
func (b *builder) cast(op *model.Op, t *hostir.Tensor, to domain.DType) *hostir.Tensor {
	if b.names == nil {
		b.names = hostir.NewNamer(b.program)
	}
	out := b.names.Declare(t, "_"+string(to))
	out.DType = to
	b.program.Body = append(b.program.Body, &hostir.Cast{Info: hostir.Info{Pos: op.Pos, Note: "added before the sum is rounded"},
		Out: out, In: t})
	return out
}

// statement returns the host IR statement of an operation. It panics for an operation that it does not know.
func statement(op *model.Op, in []*hostir.Tensor, out *hostir.Tensor) hostir.Stmt {
	info := hostir.Info{Pos: op.Pos}
	switch op.Kind {
	case model.OpSet:
		return &hostir.Set{Info: info, Out: out, In: in[0]}
	case model.OpMatmul:
		return &hostir.Matmul{Info: info, Out: out, A: in[0], B: in[1]}
	case model.OpLinear:
		s := &hostir.Linear{Info: info, Out: out, X: in[0], W: in[1]}
		if len(in) > 2 {
			s.Bias = in[2]
		}
		return s
	case model.OpBlockLinear:
		return &hostir.BlockLinear{Info: info, Out: out, X: in[0], W: in[1], S: in[2], T: in[3]}
	case model.OpBroadcast:
		return &hostir.Broadcast{Info: info, Out: out, In: in[0], Axis: liveAxis(out, op.Axis)}
	case model.OpPermute:
		return &hostir.Permute{Info: info, Out: out, In: in[0], Perm: op.Perm}
	case model.OpReshape:
		return &hostir.Reshape{Info: info, Out: out, In: in[0]}
	case model.OpSlice:
		return &hostir.Slice{Info: info, Out: out, In: in[0], Axis: liveAxis(in[0], op.Axis), Start: op.Start}
	case model.OpPositions:
		return &hostir.Positions{Info: info, Out: out}
	case model.OpGather:
		s := &hostir.Gather{Info: info, Out: out, Table: in[0], IDs: in[1], Axis: liveAxis(in[0], op.Axis), Batches: op.Batches}
		if len(in) > 2 {
			s.First = in[2]
		}
		return s
	case model.OpConcat:
		return &hostir.Concat{Info: info, Out: out, In: in, Axis: liveAxis(out, op.Axis)}
	case model.OpAttention, model.OpAttentionGrad:
		return &hostir.Attention{Info: info, Out: []*hostir.Tensor{out}, Fn: op.Fn, In: in}
	case model.OpDropout:
		return dropout(info, op, in, out)
	case model.OpCast:
		return &hostir.Cast{Info: info, Out: out, In: in[0]}
	case model.OpUnary:
		return &hostir.Unary{Info: info, Fn: op.Fn, Out: out, In: in[0]}
	case model.OpBinary:
		return &hostir.Binary{Info: info, Fn: op.Fn, Out: out, A: in[0], B: in[1]}
	case model.OpReduce:
		return &hostir.Reduce{Info: info, Fn: op.Fn, Out: out, In: in[0], Axis: liveAxis(in[0], op.Axis)}
	default:
		panic("no host IR statement for the operation " + string(op.Kind))
	}
}

// dropout returns a dropout as a fused kernel with this one step.
func dropout(info hostir.Info, op *model.Op, in []*hostir.Tensor, out *hostir.Tensor) hostir.Stmt {
	s := &hostir.Fused{Info: info, Kernel: string(op.Kind), Out: []*hostir.Tensor{out}, In: in}
	step := domain.Step{Name: out.Name, Fn: op.Fn}
	for i, t := range in {
		s.Names, step.Args = append(s.Names, t.Name), append(step.Args, i)
	}
	s.Body = domain.Body{step}
	return s
}

// liveAxis converts the number of an axis, which does not count reduced axes, to an index in t.Axes.
func liveAxis(t *hostir.Tensor, axis int) int {
	if live := hostir.Live(t); axis < len(live) {
		return live[axis]
	}
	return axis
}

func reference(op *model.Op) domain.Operation {
	ref := domain.Operation{
		Kind: string(op.Kind), Fn: op.Fn, Out: op.Out.Name, DType: op.Out.DType, Pos: op.Pos,
	}
	switch op.Kind {
	case model.OpReduce, model.OpBroadcast, model.OpSlice, model.OpConcat:
		ref.Axis, ref.Start = op.Axis, op.Start
	}
	switch op.Kind {
	case model.OpPermute:
		ref.Perm = op.Perm
	case model.OpGather:
		ref.Axis, ref.Batches = op.Axis, op.Batches
	}
	for _, t := range op.In {
		if op.Kind != model.OpPositions { // the operand of positions only gives the extent
			ref.In = append(ref.In, t.Name)
		}
	}
	for _, t := range op.More {
		ref.More = append(ref.More, t.Name)
	}
	ref.Shape = domain.Extents(op.Out.Axes)
	return ref
}

// checks sets how the program checks itself: which values fill inputs, their deviations if these are not 1, and whether
// outputs show rounding. In a program with an exact check, no output shows rounding, and only inputs of integer types
// have a deviation: the number of rows that the integers choose from.
func (b *builder) checks(p *model.Pipeline) {
	for t, fill := range eval.Fills(p) {
		b.tensors[t].Fill = fill
	}
	exact := eval.Exact(p)
	for _, t := range p.Outputs {
		b.tensors[t].Rounded = !exact
	}
	deviations := eval.Deviations(p)
	for _, op := range eval.Saved(p) { // they are computed, not filled
		for _, t := range op.Results() {
			delete(deviations, t)
		}
	}
	for t, deviation := range deviations {
		if deviation != 1 && (!exact || t.DType.IsInteger()) {
			b.tensors[t].Deviation = deviation
		}
	}
}
