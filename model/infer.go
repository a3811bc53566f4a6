package model

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// inference derives the result of one operation from its operands. Its rules and checks return false after they have
// reported an error.
type inference struct {
	a    *assembler
	src  *sourceOp
	rule operation
	op   *Op
	out  *Tensor // the result if the author declared it, else nil

	// The rules derive these fields.
	axes    []domain.Axis // the result's axes
	dtype   domain.DType
	reduced reducedAxis
	more    []derived // additional results
}

// derived is the type and axes that a rule derives for an additional result.
type derived struct {
	dtype domain.DType
	axes  []domain.Axis
}

// further infers an additional result of the operation, or checks it if it is declared.
func (in *inference) further(name text, d derived) {
	src := *in.src
	src.out = name
	out, ok := in.a.claimResult(&src)
	if !ok {
		return
	}
	other := &inference{a: in.a, src: &src, rule: in.rule, op: &Op{In: in.op.In}, out: out, axes: d.axes, dtype: d.dtype}
	if other.finish() {
		other.op.Out.Producer = in.op
		in.op.More = append(in.op.More, other.op.Out)
	}
}

// reducedAxis is an axis that an operation reduces: by sum, max, min or prod, or as the axis that a GEMM sums over.
// The author may list it in the result as r(extent), at index at.
type reducedAxis struct {
	extent domain.Extent
	at     int
	exists bool
}

// axesOf returns the axes of operand i without its reduction axes, which the operand's buffer does not have. All axes of an
// operand on another mesh than the first operand's become serial, because its Device axes have no meaning on the mesh of
// the result.
func (in *inference) axesOf(i int) []domain.Axis {
	t := in.op.In[i]
	axes := domain.WithoutReductions(t.Axes)
	if !t.Mesh.Same(in.op.In[0].Mesh) {
		for j := range axes {
			axes[j] = serial(axes[j])
		}
	}
	return axes
}

func serial(axis domain.Axis) domain.Axis { return domain.Axis{Extent: axis.Extent} }

// fail reports a mistake at the operation, and returns the diagnostic.
func (in *inference) fail(code diag.Code, format string, args ...any) *diag.Diagnostic {
	return in.a.list.Add(in.src.pos, code, format, args...)
}

// checkCounts checks the number of operands, and that attributes are known and given once.
func (in *inference) checkCounts() bool {
	name, n := in.src.fn.value, len(in.src.args)
	if n < in.rule.least || n > in.rule.most {
		want := fmt.Sprint(in.rule.least)
		switch between := in.rule.most - in.rule.least; {
		case between == 1:
			want += " or " + fmt.Sprint(in.rule.most)
		case between > 1:
			want += " to " + fmt.Sprint(in.rule.most)
		}
		plural := "s"
		if want == "1" {
			plural = ""
		}
		in.fail(diag.BadOperands, "%s takes %s operand%s, not %d", name, want, plural, n)
		return false
	}
	ok := true
	for i, attr := range in.src.attrs {
		switch {
		case !slices.Contains(in.rule.attrs, attr.name.value):
			d := in.a.list.Add(attr.name.pos, diag.BadAttribute, "%s has no attribute %q", name, attr.name.value)
			hintNearest(d, attr.name.value, in.rule.attrs)
			if attr.name.value == "dtype" && slices.Contains(ReduceFns, name) {
				d.WithHint("declare the result: %s: {axes: ..., dtype: %s}", in.src.out.value, domain.FP32)
			}
			ok = false
		case slices.ContainsFunc(in.src.attrs[:i], func(o sourceAttr) bool { return o.name.value == attr.name.value }):
			in.a.list.Add(attr.name.pos, diag.BadAttribute, "attribute %q is given twice", attr.name.value)
			ok = false
		}
	}
	return ok
}

// finish creates the result, or checks it if the author declared it.
func (in *inference) finish() bool {
	if in.dtype == "" {
		in.dtype = in.op.In[0].DType
	}
	if in.out == nil {
		return in.newResult()
	}
	in.op.Out = in.out
	return in.checkDType() && in.checkShape() && in.checkReductions()
}

// newResult creates the tensor of a result that the author did not declare.
func (in *inference) newResult() bool {
	t := &Tensor{Name: in.src.out.value, DType: in.dtype, Axes: demoteRepeated(in.axes), Mesh: in.op.In[0].Mesh, Pos: in.src.out.pos}
	if len(t.Axes) == 0 || len(t.Axes) > maxAxes {
		in.fail(diag.BadAxisCount, "the result has %d axes; 1 to %d are possible", len(t.Axes), maxAxes)
		return false
	}
	if !in.a.checkSize(in.src.pos, t) {
		return false
	}
	in.op.Out = t
	in.a.tensors[t.Name] = t
	in.a.p.Tensors = append(in.a.p.Tensors, t)
	return true
}

// demoteRepeated makes the second axis on a mesh axis, and the second Stream axis, serial, because a tensor may have
// only one of each.
func demoteRepeated(axes []domain.Axis) []domain.Axis {
	axes = slices.Clone(axes)
	for i, axis := range axes {
		if axis.Kind != domain.Device && axis.Kind != domain.Stream {
			continue
		}
		for _, other := range axes[:i] {
			if axis.Alike(other) {
				axes[i] = serial(axis)
			}
		}
	}
	return axes
}

// checkDType checks the element type of a declared result. GEMMs and reductions may return fp32, in which they
// accumulate.
func (in *inference) checkDType() bool {
	have, want := in.out.DType, in.dtype
	accumulates := in.multiplies() || in.rule.kind == OpReduce
	if have == want || accumulates && have == domain.FP32 {
		return true
	}
	in.fail(diag.DTypeMismatch, "%s is %s, but %s gives %s", in.out.Name, have, in.describe(), want).
		AddNote(in.out.Pos, "%s is declared here", in.out.Name).
		WithHint("declare it %s, or convert with cast", want)
	return false
}

// checkShape compares the declared axes of the result with the derived ones.
func (in *inference) checkShape() bool {
	have, want := domain.Shape(in.out.Axes), domain.Shape(in.axes)
	if slices.Equal(have, want) {
		return true
	}
	in.fail(diag.ResultMismatch, "%s has the shape %s, but %s gives %s",
		in.out.Name, domain.FormatShape(have), in.describe(), domain.FormatShape(want)).
		AddNote(in.out.Pos, "%s is declared here as %s", in.out.Name, domain.FormatAxes(in.out.Axes)).
		WithHint("correct the declaration, or leave %s out of tensors: hirgen then derives its axes", in.out.Name)
	return false
}

// checkReductions checks the reduction axes of a declared result. The result may list only the axis that this operation
// reduces, at the index in.reduced.at.
func (in *inference) checkReductions() bool {
	for i, axis := range in.out.Axes {
		if axis.Kind != domain.Reduction {
			continue
		}
		before := len(domain.Shape(in.out.Axes[:i]))
		if in.reduced.exists && before == i && i == in.reduced.at && axis.Size == in.reduced.extent.Size {
			continue
		}
		d := in.fail(diag.BadReduction, "%s lists %s, which %s does not reduce there", in.out.Name, axis, in.describe()).
			AddNote(in.out.Pos, "%s is declared here", in.out.Name)
		if in.reduced.exists {
			d.WithHint("it reduces r(%s), which comes before axis %d of the result", in.reduced.extent, in.reduced.at)
		}
		return false
	}
	return true
}

// words prints words with commas between them.
func words(texts []text) string {
	return lists.Join(texts, func(t text) string { return t.value })
}

// describe prints the operation with its operands: "matmul(A, B)".
func (in *inference) describe() string {
	return in.src.fn.value + "(" + lists.Join(in.op.In, func(t *Tensor) string { return t.Name }) + ")"
}
