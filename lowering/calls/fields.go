package calls

import (
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// item is a statement or a declaration: all that the text form has a line for.
type item interface {
	// Op is its name in the text form.
	Op() string
	// fields shows all fields to an archive, in order.
	fields(archive)
}

// An archive sees the fields of items one by one: to print them, to read them, or to replace
// expressions. So each item says once what it holds.
type archive interface {
	name(key string, v *string) // an identifier, or empty
	text(key string, v *string) // any text
	number(key string, v *int64)
	flag(key string, v *bool)
	expr(key string, v *expr.Expr)
	exprs(key string, v *[]expr.Expr)
	pointer(key string, v *Pointer)
	stream(key string, v *Stream)
}

// dtype shows an element type.
func dtype(a archive, key string, v *domain.DType) {
	text := string(*v)
	a.name(key, &text)
	*v = domain.DType(text)
}

// event shows an event as its set and index.
func event(a archive, v *Event) {
	a.name("event", &v.Set)
	a.expr("index", &v.Index)
}

// flagOf shows a flag.
func flagOf(a archive, v *Flag) {
	a.name("share", &v.Share)
	a.flag("done", &v.Done)
	a.expr("transfer", &v.Transfer)
}

// operand shows a strided view.
func operand(a archive, key string, v *Operand) {
	a.pointer(key, &v.At)
	a.exprs(key+"_extents", &v.Extents)
	a.exprs(key+"_strides", &v.Strides)
}

// optional shows a pointer that may be absent.
func optional(a archive, key string, v **Pointer) {
	var p Pointer
	if *v != nil {
		p = **v
	}
	a.pointer(key, &p)
	if *v = nil; p.Base != "" {
		*v = &p
	}
}

// nameList shows identifiers.
func nameList(a archive, key string, v *[]string) {
	list := make([]expr.Expr, len(*v))
	for i, name := range *v {
		list[i] = expr.Var(name)
	}
	a.exprs(key, &list)
	*v = nil
	for _, e := range list {
		*v = append(*v, e.String())
	}
}

// numbers shows whole numbers.
func numbers(a archive, key string, v *[]int64) {
	var list []expr.Expr
	for _, n := range *v {
		list = append(list, expr.Int(n))
	}
	a.exprs(key, &list)
	*v = nil
	for _, e := range list {
		n, _ := e.(expr.Int)
		*v = append(*v, int64(n))
	}
}

func (*Param) Op() string    { return "Param" }
func (*Constant) Op() string { return "Constant" }
func (*Mesh) Op() string     { return "Mesh" }
func (*Guard) Op() string    { return "Guard" }
func (*Team) Op() string     { return "Team" }
func (*Argument) Op() string { return "Argument" }
func (*Buffer) Op() string   { return "Buffer" }
func (*Shape) Op() string    { return "Shape" }
func (*Events) Op() string   { return "Events" }
func (*Share) Op() string    { return "Share" }
func (*Label) Op() string    { return "Label" }

func (d *Param) fields(a archive) {
	a.name("name", &d.Name)
	a.text("spec", &d.Spec)
	a.number("value", &d.Value)
}

func (d *Constant) fields(a archive) {
	a.name("name", &d.Name)
	a.expr("value", &d.Value)
}

func (d *Mesh) fields(a archive) {
	a.name("name", &d.Name)
	a.text("label", &d.Label)
	a.text("axes", &d.Axes)
	a.exprs("extents", &d.Extents)
	numbers(a, "ranks", &d.Ranks)
}

func (d *Guard) fields(a archive) {
	a.name("name", &d.Name)
	nameList(a, "meshes", &d.Meshes)
}

func (d *Team) fields(a archive) {
	a.name("name", &d.Name)
	a.name("mesh", &d.Mesh)
	a.number("axis", &d.Axis)
	a.flag("whole", &d.Whole)
	a.text("where", &d.Where)
}

func (d *Argument) fields(a archive) {
	a.name("name", &d.Name)
	a.text("tensor", &d.Tensor)
	dtype(a, "type", &d.Type)
	a.flag("output", &d.Output)
	a.flag("used", &d.Used)
	a.expr("elements", &d.Elements)
	a.name("mesh", &d.Mesh)
	a.exprs("shape", &d.Shape)
}

func (d *Buffer) fields(a archive) {
	a.name("name", &d.Name)
	a.flag("workspace", &d.Workspace)
	dtype(a, "type", &d.Type)
	a.expr("elements", &d.Elements)
	a.name("guard", &d.Guard)
	a.text("where", &d.Where)
	a.exprs("shape", &d.Shape)
}

func (d *Shape) fields(a archive) {
	a.name("name", &d.Name)
	a.name("plan", &d.Plan)
	a.expr("m", &d.M)
	a.expr("n", &d.N)
	a.expr("k", &d.K)
	a.expr("batch", &d.Batch)
	a.expr("stride_a", &d.StrideA)
	a.expr("stride_b", &d.StrideB)
	a.expr("stride_c", &d.StrideC)
	a.expr("row_b", &d.RowB)
	a.flag("transpose_a", &d.TransposeA)
	a.flag("transpose_b", &d.TransposeB)
	a.flag("bias", &d.Bias)
	a.flag("addend", &d.Addend)
	a.flag("fp32_result", &d.Fp32Result)
	dtype(a, "type", &d.Type)
	a.name("label", &d.Label)
}

func (d *Events) fields(a archive) {
	a.name("name", &d.Name)
	a.text("label", &d.Label)
	a.expr("count", &d.Count)
	a.name("where", &d.Where)
}

func (d *Share) fields(a archive) {
	a.name("name", &d.Name)
	a.name("shape", &d.Shape)
	a.name("memory", &d.Memory)
	a.text("tensor", &d.Tensor)
	a.expr("elements", &d.Elements)
	dtype(a, "type", &d.Type)
	a.expr("transfers", &d.Transfers)
	a.name("mesh", &d.Mesh)
	a.number("axis", &d.Axis)
	a.name("label", &d.Label)
}

func (d *Label) fields(a archive) {
	a.name("name", &d.Name)
	a.text("text", &d.Text)
}
