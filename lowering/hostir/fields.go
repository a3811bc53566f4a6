package hostir

import (
	"reflect"
	"strings"
	"sync"
)

// Field is one field of a statement: a pointer to its value, and its form in text and JSON.
type Field struct {
	Value    any
	Key      string // its key in JSON
	Word     string // text before the value, or the words of a bool: "send|recv"; empty: the position identifies the field
	Target   bool   // the field is left of "="
	Joined   bool   // no comma precedes it
	Optional bool   // it may be omitted, and is zero then
}

// Fields lists the fields of a statement, without Info and nested statements. It takes them from the struct type, in its order. A
// tag defines the text form of a field:
//
//	`text:"="`      left of "="
//	`text:"axis"`   after a word: "axis 0"
//	`text:"parts?"` omitted if zero. `text:"?"` the same, without a word
//	`text:"&axis"`  joins the previous argument
//	`text:"a|b"`    bool: a if true, else b; with one word, omitted if false
//
// The key of a field in JSON is its word, or else its name in lower case. A tag `json` overrides the key.
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

// A structLayout describes the fields of a statement type.
type structLayout struct {
	fields               []placed
	uses, defs, mentions []placed // tensor fields: operands and the Buffer of any transfer; results; tensors that are only named
	bodies               []int    // indices of the struct fields that contain statements
}

// placed is a Field without a value, and the index of the field in its struct.
type placed struct {
	Field
	at int
}

// layouts caches structLayouts by type.
var layouts sync.Map

// layoutOf returns the layout of a statement's type, and computes it on first use.
func layoutOf(s Stmt) *structLayout {
	t := reflect.TypeOf(s).Elem()
	if l, ok := layouts.Load(t); ok {
		return l.(*structLayout) //nolint:forcetypeassert // the map holds only structLayouts
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

// fieldOf returns the Field for a struct field, from its tags and name, without the value.
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

// Op returns the name of a statement in the text and JSON forms, which is the name of its type.
func Op(s Stmt) string { return reflect.TypeOf(s).Elem().Name() }

// New returns an empty statement with the given name; nil for Either and for unknown names.
func New(op string) Stmt {
	for _, s := range statements {
		if Op(s) == op {
			return fresh(s)
		}
	}
	return nil
}

// fresh returns an empty statement of the same type.
func fresh(s Stmt) Stmt {
	return reflect.New(reflect.TypeOf(s).Elem()).Interface().(Stmt) //nolint:forcetypeassert // it is of the type of s
}

// Clone returns a shallow copy of a statement.
func Clone(s Stmt) Stmt {
	c := fresh(s)
	reflect.ValueOf(c).Elem().Set(reflect.ValueOf(s).Elem())
	return c
}
