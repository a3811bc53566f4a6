package text

import (
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/calls"
)

// field is the text of a field, and where it stands.
type field struct {
	text string
	col  int
}

// line takes "Op(key value, key value) rest" apart.
func (r *reader) line(text string, col int) (op string, fields map[string]field, rest string) {
	op, inner, ok := strings.Cut(text, "(")
	if !ok {
		r.fail(col, "a line is like: Op(key value, key value)")
		return op, nil, ""
	}
	fields = map[string]field{}
	col += len(op) + 1
	start := 0
	add := func(end int) {
		part := strings.TrimSpace(inner[start:end])
		if part == "" {
			return
		}
		key, value, _ := strings.Cut(part, " ")
		if _, twice := fields[key]; twice {
			r.fail(col+start, "%s is given twice", key)
		}
		fields[key] = field{value, col + start}
	}
	end := split(inner, func(comma int) {
		add(comma)
		start = comma + 1
	})
	if end < 0 {
		r.fail(col, "the parenthesis is not closed")
		return op, fields, ""
	}
	add(end)
	return op, fields, inner[end+1:]
}

// split finds the commas between fields, and the parenthesis that closes them.
func split(text string, comma func(at int)) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			quoted, err := strconv.QuotedPrefix(text[i:])
			if err != nil {
				return -1
			}
			i += len(quoted) - 1
		case '(', '[':
			depth++
		case ')', ']':
			if depth == 0 {
				return i
			}
			depth--
		case ',':
			if depth == 0 {
				comma(i)
			}
		}
	}
	return -1
}

// read fills a statement or a declaration from its fields.
func (r *reader) read(item any, fields map[string]field) {
	if r.err != nil {
		return
	}
	if l, ok := item.(*calls.Launch); ok { // its operands are a, b, ...: as many as there are
		given := func(key string) bool { return fields[key] != (field{}) }
		for name := 'a'; given(string(name)) || given(string(name)+"_strides"); name++ {
			l.In = append(l.In, calls.Operand{})
		}
	}
	for _, f := range calls.Fields(item) {
		if given, ok := fields[f.Key]; ok {
			r.value(f, given)
			delete(fields, f.Key)
		}
	}
	for key, f := range fields {
		r.fail(f.col, "%s has no field %q", calls.Op(item), key)
	}
}

// value reads one field.
func (r *reader) value(f calls.Field, given field) {
	var err error
	switch v := f.Value.(type) {
	case *string:
		*v = given.text
		if f.Text {
			if *v, err = strconv.Unquote(given.text); err != nil {
				r.fail(given.col, "%s is no quoted text", given.text)
			}
		}
	case *int64:
		*v = r.number(given)
	case *bool:
		*v = true
	case *expr.Expr:
		*v = r.parse(given)
	case *[]expr.Expr:
		*v = list(r, given, r.parse)
	case *[]string:
		*v = list(r, given, func(part field) string { return part.text })
	case *[]int64:
		*v = list(r, given, r.number)
	case *calls.Pointer:
		*v = r.pointer(given)
	case **calls.Pointer:
		at := r.pointer(given)
		*v = &at
	case *calls.Stream:
		if index, ok := strings.CutPrefix(given.text, "compute["); ok {
			v.Index = r.parse(field{strings.TrimSuffix(index, "]"), given.col})
			return
		}
		v.Name, v.Team = strings.CutSuffix(given.text, ".stream")
	}
}

func (r *reader) number(f field) int64 {
	n, err := strconv.ParseInt(f.text, 10, 64)
	if err != nil {
		r.fail(f.col, "%s is no number", f.text)
	}
	return n
}

func (r *reader) parse(f field) expr.Expr {
	e, err := expr.ParseHost(f.text)
	if err != nil {
		r.fail(f.col, "%s: %s", f.text, err.Error())
		return nil
	}
	return e
}

// list reads "[x, y]".
func list[T any](r *reader, f field, element func(field) T) []T {
	inner, ok := strings.CutPrefix(f.text, "[")
	if !ok || !strings.HasSuffix(inner, "]") {
		r.fail(f.col, "%s is no list", f.text)
		return nil
	}
	all := []T{}
	inner = strings.TrimSuffix(inner, "]")
	start := 0
	add := func(end int) {
		if part := strings.TrimSpace(inner[start:end]); part != "" {
			all = append(all, element(field{part, f.col}))
		}
		start = end + 1
	}
	split(inner, add)
	add(len(inner))
	return all
}

// pointer reads "base[peer] + offset", without what is absent.
func (r *reader) pointer(f field) calls.Pointer {
	end := strings.IndexAny(f.text, "[ ")
	if end < 0 {
		return calls.Pointer{Base: f.text}
	}
	p, rest := calls.Pointer{Base: f.text[:end]}, f.text[end:]
	if strings.HasPrefix(rest, "[") {
		closes := split(rest[1:], func(int) {})
		if closes < 0 {
			r.fail(f.col, "%s is no pointer", f.text)
			return p
		}
		p.Peer, rest = r.parse(field{rest[1 : closes+1], f.col}), rest[closes+2:]
	}
	if rest == "" {
		return p
	}
	offset, ok := strings.CutPrefix(rest, " + ")
	if !ok {
		r.fail(f.col, "%s is no pointer", f.text)
		return p
	}
	p.Offset = r.parse(field{offset, f.col})
	return p
}
