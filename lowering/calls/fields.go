package calls

import (
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// Item is a statement or a declaration: all that the text form has a line for.
type Item interface {
	// Op is its name in the text form.
	Op() string
	// Fields shows all fields to an archive, in order.
	Fields(archive)
}

// An archive sees the fields of items one by one: to print them, to read them, or to replace
// expressions. So each item says once what it holds.
type archive interface {
	Name(key string, v *string) // an identifier, or empty
	Text(key string, v *string) // any text
	Number(key string, v *int64)
	Flag(key string, v *bool)
	Expr(key string, v *expr.Expr)
	Exprs(key string, v *[]expr.Expr)
	Pointer(key string, v *Pointer)
	Stream(key string, v *Stream)
}

// dtype shows an element type.
func dtype(a archive, key string, v *domain.DType) {
	text := string(*v)
	a.Name(key, &text)
	*v = domain.DType(text)
}

// event shows an event as its set and index.
func event(a archive, v *Event) {
	a.Name("event", &v.Set)
	a.Expr("index", &v.Index)
}

// flagOf shows a flag.
func flagOf(a archive, v *Flag) {
	a.Name("share", &v.Share)
	a.Flag("done", &v.Done)
	a.Expr("transfer", &v.Transfer)
}

// operand shows a strided view.
func operand(a archive, key string, v *Operand) {
	a.Pointer(key, &v.At)
	a.Exprs(key+"_extents", &v.Extents)
	a.Exprs(key+"_strides", &v.Strides)
}

// optional shows a pointer that may be absent.
func optional(a archive, key string, v **Pointer) {
	var p Pointer
	if *v != nil {
		p = **v
	}
	a.Pointer(key, &p)
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
	a.Exprs(key, &list)
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
	a.Exprs(key, &list)
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

func (d *Param) Fields(a archive) {
	a.Name("name", &d.Name)
	a.Text("spec", &d.Spec)
	a.Number("value", &d.Value)
}

func (d *Constant) Fields(a archive) {
	a.Name("name", &d.Name)
	a.Expr("value", &d.Value)
}

func (d *Mesh) Fields(a archive) {
	a.Name("name", &d.Name)
	a.Text("label", &d.Label)
	a.Text("axes", &d.Axes)
	a.Exprs("extents", &d.Extents)
	numbers(a, "ranks", &d.Ranks)
}

func (d *Guard) Fields(a archive) {
	a.Name("name", &d.Name)
	nameList(a, "meshes", &d.Meshes)
}

func (d *Team) Fields(a archive) {
	a.Name("name", &d.Name)
	a.Name("mesh", &d.Mesh)
	a.Number("axis", &d.Axis)
	a.Flag("whole", &d.Whole)
	a.Text("where", &d.Where)
}

func (d *Argument) Fields(a archive) {
	a.Name("name", &d.Name)
	a.Text("tensor", &d.Tensor)
	dtype(a, "type", &d.Type)
	a.Flag("output", &d.Output)
	a.Flag("used", &d.Used)
	a.Expr("elements", &d.Elements)
	a.Name("mesh", &d.Mesh)
	a.Exprs("shape", &d.Shape)
}

func (d *Buffer) Fields(a archive) {
	a.Name("name", &d.Name)
	a.Flag("workspace", &d.Workspace)
	dtype(a, "type", &d.Type)
	a.Expr("elements", &d.Elements)
	a.Name("guard", &d.Guard)
	a.Text("where", &d.Where)
	a.Exprs("shape", &d.Shape)
}

func (d *Shape) Fields(a archive) {
	a.Name("name", &d.Name)
	a.Name("plan", &d.Plan)
	a.Expr("m", &d.M)
	a.Expr("n", &d.N)
	a.Expr("k", &d.K)
	a.Expr("batch", &d.Batch)
	a.Expr("stride_a", &d.StrideA)
	a.Expr("stride_b", &d.StrideB)
	a.Expr("stride_c", &d.StrideC)
	a.Expr("row_b", &d.RowB)
	a.Flag("transpose_a", &d.TransposeA)
	a.Flag("transpose_b", &d.TransposeB)
	a.Flag("bias", &d.Bias)
	a.Flag("addend", &d.Addend)
	a.Flag("fp32_result", &d.Fp32Result)
	dtype(a, "type", &d.Type)
	a.Name("label", &d.Label)
}

func (d *Events) Fields(a archive) {
	a.Name("name", &d.Name)
	a.Text("label", &d.Label)
	a.Expr("count", &d.Count)
	a.Name("where", &d.Where)
}

func (d *Share) Fields(a archive) {
	a.Name("name", &d.Name)
	a.Name("shape", &d.Shape)
	a.Name("memory", &d.Memory)
	a.Text("tensor", &d.Tensor)
	a.Expr("elements", &d.Elements)
	dtype(a, "type", &d.Type)
	a.Expr("transfers", &d.Transfers)
	a.Name("mesh", &d.Mesh)
	a.Number("axis", &d.Axis)
	a.Name("label", &d.Label)
}

func (d *Label) Fields(a archive) {
	a.Name("name", &d.Name)
	a.Text("text", &d.Text)
}
