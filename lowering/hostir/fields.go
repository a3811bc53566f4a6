package hostir

import (
	"reflect"
	"strings"
	"sync"
)

// Field is one field of a statement: a pointer to its value, and how the written forms name it.
type Field struct {
	Value    any
	Key      string // in JSON
	Word     string // in front of the value in the text; empty: its place says what it is
	Target   bool   // it stands left of "="
	Joined   bool   // no comma stands in front of it
	Optional bool   // it may be absent, and has its zero value then
}

// Fields lists the fields of a statement, but for what every statement carries and the statements in it. The
// struct is all that says what there is, in its order. A tag says how a field stands in the text:
//
//	`text:"="`      left of the equals sign
//	`text:"axis"`   behind a word, as in "axis 0"
//	`text:"parts?"` where it is not zero; `text:"?"` so, without a word
//	`text:"&axis"`  in one argument with the field before it
//	`text:"a|b"`    a bool, by a word for true and a word for false
//
// The key of a field in JSON is its word or else its name, in small letters, unless a tag `json` gives another one.
func Fields(s Stmt) []Field {
	v := reflect.ValueOf(s).Elem()
	l := layoutOf(s)
	list := make([]Field, len(l.fields))
	for i, f := range l.fields {
		list[i] = f.Field
		list[i].Value = v.Field(f.at).Addr().Interface()
	}
	return list
}

// A structLayout is what is known of a type of statements.
type structLayout struct {
	fields               []placed
	uses, defs, mentions []placed // fields that are tensors: operands, results, and what is only named
	bodies               []int
}

// placed is a field without its value, and its place in the struct.
type placed struct {
	Field
	at int
}

// layouts are those of the types that were asked for.
var layouts sync.Map

// layoutOf looks at the type of a statement, once.
func layoutOf(s Stmt) *structLayout {
	t := reflect.TypeOf(s).Elem()
	if l, ok := layouts.Load(t); ok {
		return l.(*structLayout) //nolint:forcetypeassert // it holds nothing else
	}
	l := &structLayout{}
	for i := range t.NumField() {
		f := t.Field(i)
		field := placed{fieldOf(f), i}
		switch f.Type {
		case reflect.TypeFor[Info]():
			continue
		case reflect.TypeFor[[]Stmt]():
			l.bodies = append(l.bodies, i)
			continue
		case reflect.TypeFor[*Tensor](), reflect.TypeFor[[]*Tensor]():
			switch f.Name {
			case "Out", "Also":
				l.defs = append(l.defs, field)
			case "Tensor":
				l.mentions = append(l.mentions, field)
			default:
				l.uses = append(l.uses, field)
			}
		}
		l.fields = append(l.fields, field)
	}
	layouts.Store(t, l)
	return l
}

// fieldOf reads the tags of a field.
func fieldOf(f reflect.StructField) Field {
	var out Field
	word := f.Tag.Get("text")
	word, out.Optional = strings.CutSuffix(word, "?")
	word, out.Joined = strings.CutPrefix(word, "&")
	if out.Target = word == "="; !out.Target {
		out.Word = word
	}
	switch key := f.Tag.Get("json"); {
	case key != "":
		out.Key = key
	case out.Word != "":
		out.Key = out.Word
	default:
		out.Key = strings.ToLower(f.Name)
	}
	return out
}

// Op is the name of a statement in the text and JSON forms: that of its type.
func Op(s Stmt) string { return reflect.TypeOf(s).Elem().Name() }

// New makes an empty statement of a name; nil if there is none.
func New(op string) Stmt {
	for _, s := range statements {
		if Op(s) == op {
			return fresh(s)
		}
	}
	return nil
}

// fresh is an empty statement of the same kind.
func fresh(s Stmt) Stmt {
	return reflect.New(reflect.TypeOf(s).Elem()).Interface().(Stmt) //nolint:forcetypeassert // it is of the type of s
}

// Clone is a statement with the same fields; it shares what is in it.
func Clone(s Stmt) Stmt {
	c := fresh(s)
	reflect.ValueOf(c).Elem().Set(reflect.ValueOf(s).Elem())
	return c
}
