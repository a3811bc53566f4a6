package emit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// This file spells declarations in C++.

// shapeOf prints the shape of a GEMM as an initialiser, without the fields that d does not set.
func shapeOf(d *calls.Shape) string {
	var fields []string
	add := func(name string, e expr.Expr) {
		if e != nil {
			fields = append(fields, "."+name+" = "+spell(e))
		}
	}
	add("m", d.M)
	add("n", d.N)
	add("k", d.K)
	add("batch", d.Batch)
	add("stride_a", d.StrideA)
	add("stride_b", d.StrideB)
	add("stride_c", d.StrideC)
	add("row_b", d.RowB)
	add("align_a", align(d.AlignA))
	add("align_b", align(d.AlignB))
	add("align_c", align(d.AlignC))
	for _, flag := range []struct {
		name string
		set  bool
	}{{"transpose_a", d.TransposeA}, {"transpose_b", d.TransposeB}, {"bias", d.Bias}, {"addend", d.Addend}, {"scales", d.Scales},
		{"row_scales", d.RowScales}, {"pack_a", d.PackA}, {"pack_b", d.PackB}, {"pack_c", d.PackC},
	} {
		if flag.set {
			fields = append(fields, "."+flag.name+" = true")
		}
	}
	if d.Then != "" {
		fields = append(fields, ".epilogue = hirgen::Epilogue::"+domain.Enumerator(d.Then))
	}
	for _, of := range []struct {
		name string
		is   domain.DType
	}{{"", d.Type}, {"_b", d.TypeB}, {"_c", d.TypeC}} {
		if of.is != "" {
			fields = append(fields, ".dtype"+of.name+" = "+dtype(of.is))
		}
	}
	return braces(fields...)
}

// align returns the alignment that a shape declares for an operand, in bytes, or nil if it declares none.
func align(bytes int64) expr.Expr {
	if bytes == 0 {
		return nil
	}
	return expr.Int(bytes)
}

// attentionOf prints the shape of an attention as an initialiser, without most fields that have default values.
func (s *speller) attentionOf(d *calls.Attention) string {
	a, _ := domain.AttentionOf(d.Fn)
	var fields []string
	add := func(name, value string, given bool) {
		if given {
			fields = append(fields, "."+name+" = "+value)
		}
	}
	add("batch", spell(d.Batch), d.Batch != expr.Int(1))
	add("query_heads", spell(d.QueryHeads), true)
	add("key_heads", spell(d.KeyHeads), true)
	add("query_rows", spell(d.QueryRows), true)
	add("key_rows", spell(d.KeyRows), true)
	add("head_size", spell(d.Size), true)
	add("causal", "true", a.Causal)
	add("window", fmt.Sprint(a.Window), a.Window > 0)
	add("query_start", spell(d.Start), d.Start != expr.Int(0))
	scale := scaleLiteral(a)
	if size, known := s.values.Eval(d.Size); known && float32(a.Scale) == float32(1/math.Sqrt(float64(size))) {
		scale += " /* 1 / sqrt(head_size) */"
	}
	add("scale", scale, true)
	add("dtype", dtype(d.Type), true)
	add("deterministic", "true", d.Deterministic)
	return braces(fields...)
}

// layoutOf prints the strides of the operands and the result of an attention, and gradientsOf the strides of their
// gradients.
func layoutOf(d *calls.Attention) string {
	fields := []string{stride("q", d.Q, d.AlignQ), stride("k", d.K, d.AlignK), stride("v", d.V, d.AlignV), stride("o", d.O, d.AlignO)}
	if d.AlignLogs > 0 {
		fields = append(fields, fmt.Sprintf(".align_lse = %d", d.AlignLogs))
	}
	return braces(fields...)
}

func gradientsOf(d *calls.Attention) string {
	return braces(stride("q", d.GradQ, d.AlignGradQ), stride("k", d.GradK, d.AlignGradK), stride("v", d.GradV, d.AlignGradV),
		stride("o", d.GradO, d.AlignGradO))
}

// stride prints the strides of an operand, and its alignment if one is declared.
func stride(name string, list []expr.Expr, bytes int64) string {
	if bytes == 0 {
		return "." + name + " = " + extents(list)
	}
	return fmt.Sprintf(".%s = %s", name, braces(".batch = "+spell(list[0]), ".head = "+spell(list[1]), ".row = "+spell(list[2]),
		fmt.Sprintf(".align = %d", bytes)))
}

// planOfAttention prints the declaration of the plan of an attention.
func planOfAttention(d *calls.Attention) string {
	shape := d.Name
	if d.Mesh != "" {
		shape = fmt.Sprintf("hirgen::behind(%s, %s.coordinate(context_.rank(), %d))", d.Name, d.Mesh, d.Axis)
	}
	class, layouts := "hirgen::AttentionPlan", d.Layout
	if d.Gradients != "" {
		class, layouts = "hirgen::AttentionGradPlan", d.Layout+", "+d.Gradients
	}
	return fmt.Sprintf("%s %s{context_, %s, %s, %s}", class, d.Plan, shape, layouts, d.Label)
}

// scratch prints the scratch memory of an attention. The plan determines the number of bytes, and the runtime uses the
// given buffer if that is large enough.
func (s *speller) scratch(b *calls.Buffer) string {
	at, _ := s.start(b)
	return fmt.Sprintf("context_.workspace(%s.scratch_bytes(), %s, %s * sizeof(float), %s)", s.attentions[b.Works].Plan, at,
		scratchName(b), cstr(b.Where))
}

// attend prints the pointers of an attention or of its gradient as an initialiser.
func (s *speller) attend(c *calls.Attend) string {
	var fields []string
	add := func(name string, p calls.Pointer) {
		at := "nullptr"
		if p.Base != "" {
			at = s.pointer(p)
		}
		fields = append(fields, "."+name+" = "+at)
	}
	if c.GradO.Base != "" {
		add("grad_o", c.GradO)
	}
	add("q", c.Q)
	add("k", c.K)
	add("v", c.V)
	add("o", c.O)
	add("lse", c.Logs)
	if c.GradO.Base != "" {
		add("grad_q", c.GradQ)
		add("grad_k", c.GradK)
		add("grad_v", c.GradV)
	}
	return braces(fields...)
}

// sharedShape prints the shape of a shared buffer as an initialiser.
func (s *speller) sharedShape(d *calls.Share) string {
	fields := []string{
		".bytes = " + bytesOf(d.Elements, d.Type), ".transfers = " + spell(d.Transfers), ".name = " + cstr(d.Tensor), ".where = " + d.Label,
	}
	if d.Rows != nil {
		fields = append(fields, ".rows = "+spell(d.Rows))
	}
	if d.Mesh != "" {
		fields = append(fields, ".mesh = &"+d.Mesh, fmt.Sprintf(".axis = %d", d.Axis))
	}
	return braces(fields...)
}

// teamOf prints the expression for the ranks of a team.
func teamOf(d *calls.Team) string {
	if d.Whole {
		return d.Mesh + ".team(context_.rank())"
	}
	return fmt.Sprintf("%s.team(context_.rank(), %d)", d.Mesh, d.Axis)
}

// bound prints the caller's pointer of an argument, and tensor the caller's pointer of the memory of a share.
func (s *speller) bound(a *calls.Argument) string {
	return fmt.Sprintf("tensors[%d]", s.places[a.Name])
}
func (s *speller) tensor(d *calls.Share) string {
	return fmt.Sprintf("tensors[%d]", s.places[d.Memory])
}

// below prints the comparison of a loop variable with the number after its last value, "< n", or with its last value.
func below(count expr.Expr) string {
	if sum, ok := count.(*expr.Binary); ok && sum.Op == "+" && sum.Y.String() == "1" {
		return "<= " + spell(sum.X)
	}
	return "< " + spell(count)
}

// holds prints the condition that this rank is in one of the meshes of a guard.
func (s *speller) holds(g *calls.Guard) string {
	parts := lists.Map(g.Meshes, func(mesh string) string { return mesh + ".holds(context_.rank())" })
	return strings.Join(parts, " || ")
}

// paramsOf declares parameters as constants: by their expressions, or by their values if an override has changed these.
func (s *speller) paramsOf(params []*calls.Param) string {
	return fiveOnALine(lists.Map(params, func(p *calls.Param) string {
		return p.Name + " = " + spell(cmp.Or[expr.Expr](s.values.Definition(p), expr.Int(p.Value)))
	}))
}

// constantsOf prints extents as constants.
func constantsOf(constants []*calls.Constant) string {
	return fiveOnALine(lists.Map(constants, func(c *calls.Constant) string { return c.Name + " = " + spell(c.Value) }))
}

// Relations prints which constants are another constant times a parameter: "kSliceM = kSliceShardM * D". A parameter that
// is a product counts as its factors: if E is H * C, then E / D is kShardH * C. It also prints which constants are sums of
// others: "kShardH2G = kShardH + 2 * kShardG".
func (v *programView) Relations() string {
	values, products := v.Values(), map[string]expr.Expr{}
	for _, d := range v.Params {
		if definition := values.Definition(d); definition != nil && len(expr.Factors(definition)) > 1 {
			products[d.Name] = definition
		}
	}
	var list []string
	for _, whole := range v.Constants {
		if value, ok := whole.Value.(*expr.Binary); ok {
			if sum, ok := v.quotient(value.X, value.Y).(*expr.Binary); ok {
				list = append(list, whole.Name+" = "+spell(sum))
			}
		}
		for _, part := range v.Constants {
			by, name := expr.Cancel(expr.Op("/", expr.Substitute(whole.Value, products), part.Value)).(expr.Var)
			if name {
				list = append(list, fmt.Sprintf("%s = %s * %s", whole.Name, part.Name, by))
			}
		}
	}
	return strings.Join(list, ", ")
}

// quotient returns a sum of parameters divided by an expression, as a sum of constants: (H + 2 * G) / D is kShardH + 2 *
// kShardG. It returns nil if e is not such a sum, or if a quotient of a parameter is not a constant.
func (v *programView) quotient(e, by expr.Expr) expr.Expr {
	switch e := e.(type) {
	case expr.Var:
		is := func(part *calls.Constant) bool { return part.Value.String() == expr.Op("/", e, by).String() }
		if i := slices.IndexFunc(v.Constants, is); i >= 0 {
			return expr.Var(v.Constants[i].Name)
		}
	case *expr.Binary:
		x, y := v.quotient(e.X, by), v.quotient(e.Y, by)
		_, times := e.X.(expr.Int)
		switch {
		case e.Op == "+" && x != nil && y != nil:
			return expr.Op("+", x, y)
		case e.Op == "*" && times && y != nil:
			return expr.Op("*", e.X, y)
		}
	}
	return nil
}

// fiveOnALine declares int64_t constants, at most five on a line.
func fiveOnALine(parts []string) string {
	var lines []string
	for some := range slices.Chunk(parts, 5) {
		lines = append(lines, "constexpr int64_t "+strings.Join(some, ", ")+";")
	}
	return strings.Join(lines, "\n")
}

// createOf prints the function that makes a program, on one line if it fits.
func createOf(name, class string) string {
	head, body := "std::unique_ptr<hirgen::Program> "+name+"(hirgen::Context& context) {", "return std::make_unique<"+class+">(context);"
	if short := head + " " + body + " }"; width(short) <= columns {
		return short
	}
	return head + "\n  " + body + "\n}"
}
