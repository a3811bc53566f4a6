package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/calls"
)

// How declarations are spelled in C++.

// shapeOf prints the shape of a product as an initialiser without defaults.
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
	for _, flag := range []struct {
		name string
		set  bool
	}{{"transpose_a", d.TransposeA}, {"transpose_b", d.TransposeB}, {"bias", d.Bias}, {"addend", d.Addend}, {"fp32_result", d.Fp32Result}} {
		if flag.set {
			fields = append(fields, "."+flag.name+" = true")
		}
	}
	return braces(append(fields, ".dtype = "+dtype(d.Type))...)
}

// sharedShape prints what a buffer is shared for as an initialiser.
func (s *speller) sharedShape(d *calls.Share) string {
	fields := []string{
		".bytes = " + bytesOf(d.Elements, d.Type), ".transfers = " + spell(d.Transfers), ".name = " + cstr(d.Tensor), ".where = " + d.Label,
	}
	if d.Mesh != "" {
		fields = append(fields, ".mesh = &"+d.Mesh, fmt.Sprintf(".axis = %d", d.Axis))
	}
	return braces(fields...)
}

// teamOf prints the ranks of a team.
func teamOf(d *calls.Team) string {
	if d.Whole {
		return d.Mesh + ".team(context_.rank())"
	}
	return fmt.Sprintf("%s.team(context_.rank(), %d)", d.Mesh, d.Axis)
}

// bound prints the caller's pointer of an argument, tensor that of a share.
func (s *speller) bound(a *calls.Argument) string {
	return fmt.Sprintf("tensors[%d]", s.places[a.Name])
}
func (s *speller) tensor(d *calls.Share) string {
	return fmt.Sprintf("tensors[%d]", s.places[d.Memory])
}

// holds prints whether this rank is in one of the meshes of a guard.
func (s *speller) holds(g *calls.Guard) string {
	parts := make([]string, len(g.Meshes))
	for i, mesh := range g.Meshes {
		parts[i] = mesh + ".holds(context_.rank())"
	}
	return strings.Join(parts, " || ")
}

// paramsOf prints parameters as constants.
func paramsOf(list []*calls.Param) string {
	parts := make([]string, len(list))
	for i, p := range list {
		parts[i] = fmt.Sprintf("%s = %d", p.Name, p.Value)
	}
	return fiveOnALine(parts)
}

// constantsOf prints extents as constants.
func constantsOf(list []*calls.Constant) string {
	parts := make([]string, len(list))
	for i, c := range list {
		parts[i] = c.Name + " = " + spell(c.Value)
	}
	return fiveOnALine(parts)
}

func fiveOnALine(parts []string) string {
	var lines []string
	for some := range slices.Chunk(parts, 5) {
		lines = append(lines, "constexpr int64_t "+strings.Join(some, ", ")+";")
	}
	return strings.Join(lines, "\n")
}

// createOf prints the function that makes a program, on one line where there is room.
func createOf(name, class string) string {
	head, body := "std::unique_ptr<hirgen::Program> "+name+"(hirgen::Context& context) {", "return std::make_unique<"+class+">(context);"
	if short := head + " " + body + " }"; width(short) <= columns {
		return short
	}
	return head + "\n  " + body + "\n}"
}
