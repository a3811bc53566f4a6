package mutate

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// aliasBuffers gives a buffer the memory of an earlier one that is large enough and has the same type and ranks.
func aliasBuffers(e *editor) {
	for i, b := range e.program.Buffers {
		for _, in := range e.program.Buffers[:i] {
			if e.fits(b, in) && b.In == "" && e.here(b, "in the memory of %s", in.Name) {
				e.move(b, in)
			}
		}
	}
}

// move puts a buffer, and all buffers in it, into the memory of another buffer.
func (e *editor) move(b, in *calls.Buffer) {
	for _, other := range e.program.Buffers {
		if other == b || other.In == b.Name {
			other.In = in.Name
		}
	}
	e.forget(b.Name)
}

// forget drops the host steps of a buffer that has no separate memory.
func (e *editor) forget(name string) {
	for _, section := range e.program.Life.Sections() {
		*section.Steps = slices.DeleteFunc(*section.Steps, func(s calls.Step) bool { return s.Name == name })
	}
}

// freeEarly moves a buffer that reuses the memory of a finished buffer into a third buffer, which may still be in use.
func freeEarly(e *editor) {
	for i, b := range e.program.Buffers {
		for _, in := range e.program.Buffers[:i] {
			if b.In != "" && b.In != in.Name && e.fits(b, in) && e.here(b, "in the memory of %s, not of %s", in.Name, b.In) {
				b.In, b.Offset = in.Name, 0
			}
		}
	}
}

// wrongPlace moves a buffer within its memory, by 256 bytes or to the start, where other buffers may be.
func wrongPlace(e *editor) {
	const little = 256
	for _, b := range e.program.Buffers {
		if b.Offset > little && e.here(b, "%d bytes nearer to the start of %s", little, b.In) {
			b.Offset -= little
		}
		if b.Offset > 0 && e.here(b, "at the start of %s", b.In) {
			b.Offset = 0
		}
	}
}

func (e *editor) fits(b, in *calls.Buffer) bool {
	if in.In != "" || b.Type != in.Type || b.Guard != in.Guard {
		return false
	}
	v := e.program.Values()
	size, _ := v.Eval(b.Elements)
	room, _ := v.Eval(in.Elements)
	return size <= room
}

func shrinkBuffer(e *editor) {
	for _, b := range e.program.Buffers {
		if b.Elements != nil && b.In == "" && e.here(b, "an element less") {
			b.Elements = expr.Op("-", b.Elements, expr.Int(1))
		}
	}
}

// pointers visits the pointers of a statement.
func pointers(s calls.Stmt, visit func(key string, p *calls.Pointer)) {
	for _, f := range calls.Fields(s) {
		switch v := f.Value.(type) {
		case *calls.Pointer:
			if v.Base != "" {
				visit(f.Key, v)
			}
		case **calls.Pointer:
			if *v != nil {
				visit(f.Key, *v)
			}
		}
	}
}

// inPointers returns a mistake in pointers: edit is called for each pointer of each statement.
func inPointers(edit func(e *editor, s calls.Stmt, key string, p *calls.Pointer)) func(*editor) {
	return each(func(e *editor, s calls.Stmt) {
		pointers(s, func(key string, p *calls.Pointer) { edit(e, s, key, p) })
	})
}

var wrongOffset = inPointers(func(e *editor, s calls.Stmt, key string, p *calls.Pointer) {
	if e.here(s, "%s an element on", key) {
		if p.Offset == nil {
			p.Offset = expr.Int(0)
		}
		p.Offset = expr.Op("+", p.Offset, expr.Int(1))
	}
})

var lostOffset = inPointers(func(e *editor, s calls.Stmt, key string, p *calls.Pointer) {
	if p.Offset != nil && e.here(s, "%s at the start", key) {
		p.Offset = nil
	}
})

// wrongBuffer replaces the memory of an operand by another memory of the same size and type; each of these is a site.
func wrongBuffer(e *editor) {
	memory := memoryOf(e.program)
	inPointers(func(e *editor, s calls.Stmt, key string, p *calls.Pointer) {
		own := slices.IndexFunc(memory, func(m region) bool { return m.name == p.Base })
		for i, other := range memory {
			if own >= 0 && i != own && other.kind == memory[own].kind && e.here(s, "%s is %s", key, other.name) {
				p.Base = other.name
			}
		}
	})(e)
}

// A region is an argument or a buffer. Regions of one kind can replace each other.
type region struct {
	name string
	kind struct {
		dtype    string
		elements int64
	}
}

func memoryOf(p *calls.Program) (list []region) {
	v := p.Values()
	add := func(name, dtype string, elements expr.Expr) {
		r := region{name: name}
		r.kind.dtype = dtype
		r.kind.elements, _ = v.Eval(elements)
		list = append(list, r)
	}
	for _, a := range p.Arguments {
		add(a.Name, string(a.Type), a.Elements)
	}
	for _, b := range p.Buffers {
		add(b.Name, string(b.Type), b.Elements)
	}
	return list
}

// wrongSize subtracts one from a number of elements, or from an extent of a GEMM or of a kernel's result.
func wrongSize(e *editor) {
	less := func(item any, f calls.Field) {
		switch v := f.Value.(type) {
		case *expr.Expr:
			if *v != nil && slices.Contains([]string{"elements", "count", "m", "n", "k", "batch"}, f.Key) && e.here(item, "%s one less", f.Key) {
				*v = expr.Op("-", *v, expr.Int(1))
			}
		case *[]expr.Expr:
			for i := range *v {
				if f.Key == "out_extents" && e.here(item, "extent %d one less", i) {
					(*v)[i] = expr.Op("-", (*v)[i], expr.Int(1))
				}
			}
		}
	}
	for _, d := range e.program.Shapes {
		for _, f := range calls.Fields(d) {
			less(d, f)
		}
	}
	each(func(_ *editor, s calls.Stmt) {
		for _, f := range calls.Fields(s) {
			if !calls.Is[*calls.For](s) {
				less(s, f)
			}
		}
	})(e)
}

// wrongStride adds one to a stride of rows or batches of a GEMM, or to a stride of a kernel's operand.
func wrongStride(e *editor) {
	for _, d := range e.program.Shapes {
		for _, stride := range []*expr.Expr{&d.RowB, &d.StrideA, &d.StrideB, &d.StrideC} {
			if *stride != nil && e.here(d, "%s and one", *stride) {
				*stride = expr.Op("+", *stride, expr.Int(1))
			}
		}
	}
	each(func(e *editor, s *calls.Launch) {
		for _, f := range calls.Fields(s) {
			strides, ok := f.Value.(*[]expr.Expr)
			if !ok || len(f.Key) < len("_strides") || f.Key[len(f.Key)-len("_strides"):] != "_strides" {
				continue
			}
			for i := range *strides {
				if e.here(s, "%s %d one more", f.Key, i) {
					(*strides)[i] = expr.Op("+", (*strides)[i], expr.Int(1))
				}
			}
		}
	})(e)
}

// wrongAlignment drops the declared alignment of an operand, so that its plan assumes the largest one.
func wrongAlignment(e *editor) {
	for _, d := range e.program.Declarations() {
		for _, f := range calls.Fields(d) {
			if bytes, ok := f.Value.(*int64); ok && strings.HasPrefix(f.Key, "align_") && *bytes > 0 && e.here(d, "without %s", f.Key) {
				*bytes = 0
			}
		}
	}
}
