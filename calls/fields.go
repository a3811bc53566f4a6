package calls

import (
	"reflect"
	"strings"
	"sync"
	"unicode"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// Field is one field of a statement or a declaration: its key in the text form, and a pointer to its value. The pointer
// is a *string, *int64, *bool, *expr.Expr, *[]expr.Expr, *[]string, *[]int64, *Pointer, **Pointer or *Stream.
type Field struct {
	Key   string
	Value any
	Text  bool // the string may be any text; otherwise it is an identifier
}

// Fields lists the fields of a statement or a declaration; item is a pointer to its struct. They are in the order of
// the struct, and their keys are the field names in snake_case. Some fields are listed as several: an Event as event
// and index, and a Flag as share, done and transfer. An Operand x becomes x, x_extents and x_strides, and a list of
// Operands becomes Operands a, b, ... The tag `text:"quoted"` marks strings that are not identifiers. Nested statements
// and Info are not listed.
func Fields(item any) []Field {
	v := reflect.ValueOf(item).Elem()
	layout := layoutOf(v.Type())
	list := make([]Field, 0, len(layout.keys)+2)
	for i, key := range layout.keys {
		switch value := v.Field(i).Addr().Interface().(type) {
		case *Info, *[]Stmt:
		case *domain.DType:
			list = append(list, Field{Key: key, Value: (*string)(value)})
		case *Event:
			list = append(list, Field{Key: "event", Value: &value.Set}, Field{Key: "index", Value: &value.Index})
		case *Flag:
			list = append(list, Field{Key: "share", Value: &value.Share}, Field{Key: "done", Value: &value.Done},
				Field{Key: "transfer", Value: &value.Transfer})
		case *Operand:
			list = append(list, operand(key, value)...)
		case *[]Operand:
			for i := range *value {
				list = append(list, operand(string(rune('a'+i)), &(*value)[i])...)
			}
		default:
			list = append(list, Field{key, value, layout.text[i]})
		}
	}
	return list
}

// operand lists the fields of an Operand: pointer, extents and strides.
func operand(key string, o *Operand) []Field {
	return []Field{{Key: key, Value: &o.At}, {Key: key + "_extents", Value: &o.Extents}, {Key: key + "_strides", Value: &o.Strides}}
}

// A layout describes a struct type. keys has the key of each field, text marks the fields that are quoted text, and
// bodies has the indices of the fields that are lists of statements.
type layout struct {
	keys   []string
	text   []bool
	bodies []int
}

// layouts caches a layout for each reflect.Type.
var layouts sync.Map

// layoutOf returns the layout of a struct type, and computes it on first use. The key of StrideA is stride_a.
func layoutOf(t reflect.Type) layout {
	if l, ok := layouts.Load(t); ok {
		return l.(layout) //nolint:forcetypeassert // the map holds only layouts
	}
	var l layout
	for i := range t.NumField() {
		field := t.Field(i)
		var key strings.Builder
		for at, r := range field.Name {
			if at > 0 && unicode.IsUpper(r) {
				key.WriteByte('_')
			}
			key.WriteRune(unicode.ToLower(r))
		}
		l.keys, l.text = append(l.keys, key.String()), append(l.text, field.Tag.Get("text") != "")
		if field.Type == reflect.TypeFor[[]Stmt]() {
			l.bodies = append(l.bodies, i)
		}
	}
	layouts.Store(t, l)
	return l
}

// Op returns the name of a statement or a declaration in the text form: the name of its Go type.
func Op(item any) string { return reflect.TypeOf(item).Elem().Name() }

// New returns an empty statement of the type with the given name, or nil if there is no such type.
func New(op string) Stmt {
	for _, s := range statements {
		if t := reflect.TypeOf(s).Elem(); t.Name() == op {
			made, _ := reflect.New(t).Interface().(Stmt)
			return made
		}
	}
	return nil
}

// Copy returns a copy of a statement, which shares lists and pointers with it.
func Copy(s Stmt) Stmt {
	made := reflect.New(reflect.TypeOf(s).Elem())
	made.Elem().Set(reflect.ValueOf(s).Elem())
	return made.Interface().(Stmt) //nolint:forcetypeassert // it is of the type of s
}

// Bodies returns pointers to the lists of statements that are nested directly inside a statement.
func Bodies(s Stmt) []*[]Stmt {
	v := reflect.ValueOf(s).Elem()
	var list []*[]Stmt
	for _, i := range layoutOf(v.Type()).bodies {
		list = append(list, v.Field(i).Addr().Interface().(*[]Stmt)) //nolint:forcetypeassert // as layoutOf says
	}
	return list
}

// lists calls visit for each list of declarations of a program, in the order of the text form.
func (p *Program) lists(visit func(list reflect.Value)) {
	v := reflect.ValueOf(p).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Pointer {
			visit(f)
		}
	}
}

// Declarations lists all declarations of a program, in the order of the text form.
func (p *Program) Declarations() []any {
	var all []any
	p.lists(func(list reflect.Value) {
		for i := range list.Len() {
			all = append(all, list.Index(i).Interface())
		}
	})
	return all
}

// ByName indexes declarations by name. The name is the first field of each declaration.
func ByName[T any](list []*T) map[string]*T {
	found := make(map[string]*T, len(list))
	for _, d := range list {
		if name, ok := Fields(d)[0].Value.(*string); ok {
			found[*name] = d
		}
	}
	return found
}

// Add appends an empty declaration of the kind op to the program, and returns a pointer to it. It returns nil if there
// is no such kind.
func (p *Program) Add(op string) (made any) {
	p.lists(func(list reflect.Value) {
		if t := list.Type().Elem().Elem(); t.Name() == op {
			d := reflect.New(t)
			list.Set(reflect.Append(list, d))
			made = d.Interface()
		}
	})
	return made
}

// A Rewriter replaces the expressions, pointers and streams in fields of statements and declarations, and calls Noted
// for each identifier. A function that is nil is not called.
type Rewriter struct {
	Expression func(expr.Expr) expr.Expr
	Place      func(Pointer) Pointer
	Queue      func(Stream) Stream
	Noted      func(key, name string)
	Code       bool // do not rewrite extents with the key shape, which the program prints only in comments
}

// Rewrite rewrites the fields of a statement or a declaration. item is a pointer to its struct.
func (r *Rewriter) Rewrite(item any) {
	for _, f := range Fields(item) {
		switch v := f.Value.(type) {
		case *string:
			if r.Noted != nil && *v != "" && !f.Text {
				r.Noted(f.Key, *v)
			}
		case *[]string:
			for _, name := range *v {
				if r.Noted != nil {
					r.Noted(f.Key, name)
				}
			}
		case *expr.Expr:
			r.expr(v)
		case *[]expr.Expr:
			for i := range *v {
				if f.Key == "shape" && r.Code {
					break
				}
				r.expr(&(*v)[i])
			}
		case *Pointer:
			r.pointer(v)
		case **Pointer:
			if *v != nil {
				r.pointer(*v)
			}
		case *Stream:
			r.expr(&v.Index)
			if r.Queue != nil && *v != (Stream{}) {
				*v = r.Queue(*v)
			}
		}
	}
}

func (r *Rewriter) expr(v *expr.Expr) { //nolint:gocritic // it is replaced
	if *v != nil && r.Expression != nil {
		*v = r.Expression(*v)
	}
}

func (r *Rewriter) pointer(v *Pointer) {
	if v.Base == "" {
		return
	}
	r.expr(&v.Peer)
	r.expr(&v.Offset)
	if r.Place != nil {
		*v = r.Place(*v)
	}
}

// RewriteAll rewrites all statements of a list, including nested ones.
func RewriteAll(body []Stmt, r *Rewriter) {
	for s := range All(body) {
		r.Rewrite(s)
	}
}
