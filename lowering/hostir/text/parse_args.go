package text

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/internal/base/scan"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/transports"
)

// arguments parses the fields of a statement between its parentheses, in order.
func (p *parser) arguments(fields []hostir.Field) {
	first := true
	for i, f := range fields {
		at, follows := p.At, !first && !f.Joined
		if f.Optional && (follows && !p.Accept(",") || !p.begins(f, fields[i+1:])) {
			p.At = at
			continue
		} else if follows && !f.Optional {
			p.Expect(",")
		}
		if _, choice := f.Value.(*bool); f.Word != "" && !choice {
			p.Keyword(f.Word)
		}
		p.value(f, fields[i+1:])
		first = false
	}
}

// begins reports whether an optional field comes next: its word or, if it has none, neither the end of an argument
// nor the word of a field in rest.
func (p *parser) begins(f hostir.Field, rest []hostir.Field) bool {
	if f.Word != "" {
		return p.starts(f.Word)
	}
	return !p.startsArgumentEnd() && !p.startsOne(rest)
}

// startsOne reports whether the word of one of the given fields comes next, as a keyword.
func (p *parser) startsOne(of []hostir.Field) bool {
	return slices.ContainsFunc(of, func(f hostir.Field) bool { return f.Word != "" && p.starts(f.Word) })
}

// starts reports whether a keyword comes next, and not a tensor with the same name.
func (p *parser) starts(words string) bool {
	at := p.At
	word, _, _ := strings.Cut(words, " ")
	is := p.AcceptWord(word) && !p.startsArgumentEnd()
	p.At = at
	return is
}

// startsArgumentEnd reports whether an argument ends here. Then the previous word is the name of a tensor and not a
// keyword.
func (p *parser) startsArgumentEnd() bool {
	p.SkipSpace()
	return p.At >= len(p.Text) || p.Text[p.At] == ',' || p.Text[p.At] == ')'
}

// The values of Backend and Locality, without the empty ones.
var (
	backends   = lists.Map(transports.Rows(), func(r transports.Row) hostir.Backend { return hostir.Backend(r.Title) })
	localities = []hostir.Locality{hostir.IntraNode, hostir.InterNode}
)

// value parses the value of a field. rest are the fields that may follow it.
func (p *parser) value(f hostir.Field, rest []hostir.Field) {
	switch v := f.Value.(type) {
	case *string:
		*v = p.nameOf(f)
	case *collective.Type:
		*v = oneOf(p, "type of communication", collective.Types())
	case *hostir.Backend:
		*v = oneOf(p, "backend", backends)
	case *hostir.Locality:
		*v = oneOf(p, "locality", localities)
	case *bool:
		p.either(v, f.Word)
	case *int:
		*v = p.Small()
	case *int64:
		*v = int64(p.Small())
	case *expr.Expr:
		*v = p.Expression(",)")
	case *domain.Extent:
		*v = p.extent(",)")
	case *hostir.StreamRef:
		*v = p.stream()
	case **domain.Mesh:
		*v = p.mesh()
	case **hostir.Tensor:
		*v = p.tensor()
	case *[]*hostir.Tensor:
		*v = elements(p, rest, p.tensor)
	case *[]string:
		*v = elements(p, rest, func() string { return p.nameOf(f) })
	case *[]int:
		*v = scan.List(p.Line, p.Small)
	}
}

// nameOf parses the name in a field, or a function such as "scale(0.125)" in a field for functions.
func (p *parser) nameOf(f hostir.Field) string {
	switch f.Key {
	case "fn", "reduce":
		return p.functionName()
	case "axis":
		return p.Name("a mesh axis")
	default:
		return p.Name("a communication")
	}
}

// functionName parses a function: "gelu", "scale(0.125)".
func (p *parser) functionName() string {
	fn := p.Name("a function")
	if !p.Accept("(") {
		return fn
	}
	constant, _ := p.Until(")")
	p.Expect(")")
	return fn + "(" + constant + ")"
}

// oneOf parses one of the given strings.
func oneOf[T ~string](p *parser, what string, list []T) T {
	for _, v := range list {
		if p.AcceptSpelling(string(v)) {
			return v
		}
	}
	p.Fail("%q is no %s", p.Word("-"), what)
	return ""
}

// either parses a bool. words is the word for true or, with "|", the words for true and for false.
func (p *parser) either(v *bool, words string) {
	yes, no, both := strings.Cut(words, "|")
	text, at := p.Until(",)")
	switch *v = text == yes; {
	case *v || both && text == no:
	case both:
		p.FailAt(at, "%q is neither %s nor %s", text, yes, no)
	default:
		p.FailAt(at, "%q stands where %q should", text, yes)
	}
}

// elements parses a comma-separated list, up to the word of a field that may follow.
func elements[T any](p *parser, rest []hostir.Field, element func() T) []T {
	all := []T{element()}
	for p.Err == nil {
		at := p.At
		if !p.Accept(",") || p.startsOne(rest) {
			p.At = at
			break
		}
		all = append(all, element())
	}
	return all
}

// fused parses a kernel's name and its operands.
func (p *parser) fused(s *hostir.Fused) {
	s.Kernel = p.Name("a kernel")
	for p.Err == nil && p.Accept(",") {
		name := p.Peek()
		s.In = append(s.In, p.tensor())
		if p.AcceptWord("as") {
			name = p.Name("an operand")
		}
		s.Names = append(s.Names, name)
	}
}

// body parses the steps of a fused kernel: ": G = silu(Zg), A = mul(G, Zu)".
func (p *parser) body(s *hostir.Fused) {
	p.Expect(":")
	text, at := p.Until("@#")
	body, ok := domain.ParseBody(text, s.Names)
	if !ok {
		p.FailAt(at, "%q is no list of operations on %s", text, strings.Join(s.Names, ", "))
	}
	s.Body = body
}
