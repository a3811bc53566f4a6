package text

import (
	"cmp"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/scan"
)

// fields parses the fields of a statement or a declaration: "(key value, key value)".
func fields(l *scan.Line, item any) {
	l.Expect("(")
	given := map[string]bool{}
	for l.Err == nil && !l.Accept(")") {
		if len(given) > 0 {
			l.Expect(",")
		}
		l.SkipSpace()
		at := l.At
		key := l.Name("a field")
		if given[key] {
			l.FailAt(at, "%s is given twice", key)
		}
		given[key] = true
		if f, ok := find(item, key); ok {
			value(l, f)
		} else {
			l.FailAt(at, "%s has no field %q", calls.Op(item), key)
		}
	}
}

// formerKeys maps keys that older versions of hirgen printed to the present keys.
var formerKeys = map[string]string{"room": "scratch"}

// find returns the field with a key, or false if there is none. The operands of a Launch have the keys a, b, ...; find
// appends an operand when the next key appears.
func find(item any, key string) (calls.Field, bool) {
	key = cmp.Or(formerKeys[key], key)
	name, _, _ := strings.Cut(key, "_")
	if s, ok := item.(*calls.Launch); ok && name == string(rune('a'+len(s.In))) {
		s.In = append(s.In, calls.Operand{})
	}
	list := calls.Fields(item)
	i := slices.IndexFunc(list, func(f calls.Field) bool { return f.Key == key })
	if i < 0 {
		return calls.Field{}, false
	}
	return list[i], true
}

// value parses the value of a field.
func value(l *scan.Line, f calls.Field) {
	switch v := f.Value.(type) {
	case *string:
		if f.Text {
			*v = l.Quoted()
		} else {
			*v, _ = l.Until(",)")
		}
	case *int64:
		*v = l.Integer()
	case *bool:
		*v = true
	case *expr.Expr:
		*v = l.Expression(",)")
	case *[]expr.Expr:
		*v = scan.List(l, func() expr.Expr { return l.Expression(",]") })
	case *[]string:
		*v = scan.List(l, func() string { text, _ := l.Until(",]"); return text })
	case *[]int64:
		*v = scan.List(l, l.Integer)
	case *calls.Pointer:
		*v = pointer(l)
	case **calls.Pointer:
		at := pointer(l)
		*v = &at
	case *calls.Stream:
		if text, _ := l.Until(",)["); l.Accept("[") {
			v.Index = l.Expression("]")
			l.Expect("]")
		} else {
			v.Name, v.Team = strings.CutSuffix(text, ".stream")
		}
	}
}

// pointer parses "base[peer] + offset". The peer and the offset are optional.
func pointer(l *scan.Line) calls.Pointer {
	p := calls.Pointer{Base: l.Name("a pointer")}
	if l.Accept("[") {
		p.Peer = l.Expression("]")
		l.Expect("]")
	}
	if l.Accept("+") {
		p.Offset = l.Expression(",)")
	}
	return p
}
