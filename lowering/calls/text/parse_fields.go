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

// read fills an item from its fields.
func (r *reader) read(i calls.Item, fields map[string]field) {
	if r.err != nil {
		return
	}
	a := &fieldReader{r: r, fields: fields}
	i.Fields(a)
	for key, f := range fields {
		r.fail(f.col, "%s has no field %q", i.Op(), key)
	}
}

// fieldReader is the archive that reads.
type fieldReader struct {
	r      *reader
	fields map[string]field
}

// take gives the text of a field, once.
func (a *fieldReader) take(key string) (field, bool) {
	f, ok := a.fields[key]
	delete(a.fields, key)
	return f, ok
}

func (a *fieldReader) Name(key string, v *string) {
	f, _ := a.take(key)
	*v = f.text
}

func (a *fieldReader) Text(key string, v *string) {
	f, ok := a.take(key)
	if !ok {
		*v = ""
		return
	}
	text, err := strconv.Unquote(f.text)
	if err != nil {
		a.r.fail(f.col, "%s is no quoted text", f.text)
	}
	*v = text
}

func (a *fieldReader) Number(key string, v *int64) {
	f, ok := a.take(key)
	if !ok {
		*v = 0
		return
	}
	n, err := strconv.ParseInt(f.text, 10, 64)
	if err != nil {
		a.r.fail(f.col, "%s is no number", f.text)
	}
	*v = n
}

func (a *fieldReader) Flag(key string, v *bool) { _, *v = a.take(key) }

func (a *fieldReader) Expr(key string, v *expr.Expr) { //nolint:gocritic // an archive replaces what it is shown
	*v = nil
	if f, ok := a.take(key); ok {
		*v = a.parse(f.text, f.col)
	}
}

func (a *fieldReader) parse(text string, col int) expr.Expr {
	e, err := expr.ParseHost(text)
	if err != nil {
		a.r.fail(col, "%s: %s", text, err.Error())
		return nil
	}
	return e
}

func (a *fieldReader) Exprs(key string, v *[]expr.Expr) {
	*v = nil
	f, ok := a.take(key)
	if !ok {
		return
	}
	inner, ok := strings.CutPrefix(f.text, "[")
	if !ok || !strings.HasSuffix(inner, "]") {
		a.r.fail(f.col, "%s is no list", f.text)
		return
	}
	*v = []expr.Expr{}
	inner = strings.TrimSuffix(inner, "]")
	start := 0
	add := func(end int) {
		if part := strings.TrimSpace(inner[start:end]); part != "" {
			*v = append(*v, a.parse(part, f.col))
		}
		start = end + 1
	}
	split(inner, add)
	add(len(inner))
}

func (a *fieldReader) Pointer(key string, v *calls.Pointer) {
	*v = calls.Pointer{}
	f, ok := a.take(key)
	if !ok {
		return
	}
	end := strings.IndexAny(f.text, "[ ")
	if end < 0 {
		v.Base = f.text
		return
	}
	v.Base = f.text[:end]
	rest := f.text[end:]
	if strings.HasPrefix(rest, "[") {
		closes := split(rest[1:], func(int) {})
		if closes < 0 {
			a.r.fail(f.col, "%s is no pointer", f.text)
			return
		}
		v.Peer, rest = a.parse(rest[1:closes+1], f.col), rest[closes+2:]
	}
	if rest == "" {
		return
	}
	offset, ok := strings.CutPrefix(rest, " + ")
	if !ok {
		a.r.fail(f.col, "%s is no pointer", f.text)
		return
	}
	v.Offset = a.parse(offset, f.col)
}

func (a *fieldReader) Stream(key string, v *calls.Stream) {
	*v = calls.Stream{}
	f, ok := a.take(key)
	if !ok {
		return
	}
	if index, ok := strings.CutPrefix(f.text, "compute["); ok {
		v.Index = a.parse(strings.TrimSuffix(index, "]"), f.col)
		return
	}
	v.Name, v.Team = strings.CutSuffix(f.text, ".stream")
}
