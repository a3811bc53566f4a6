package schedule

import (
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/internal/expr"
)

// Scope says what a field is chosen for.
type Scope int

// The scopes.
const (
	Program       Scope = iota // the whole program
	Communication              // each communication, or All
)

// A Field is one of the table.
type Field struct {
	Name  string
	Scope Scope
	// Values are what the field can be; nil for a number or a mesh axis. Where both, it can be one of them or a number.
	Values []Value
	// Low and High bound a number. Both are 0 for a field that is none.
	Low, High int64
	MeshAxis  bool   // the value is the name of a mesh axis
	Default   string // empty where the field is left open without a value
	// UnderReference is the default with preset: reference, where that is another one.
	UnderReference string
	// Reference says why the field goes with preset: reference alone; empty where it does not.
	Reference string
	// Pipelines are the kinds of pipeline that the field says something about; nil for all.
	Pipelines []string
	// Structural fields shape a loop: the communications of one loop have one value.
	Structural bool
	Doc        string
	// legal says why a communication cannot have the field at all; nil where each can.
	legal func(c *Facts) *Problem
	// fits says why a communication cannot have a number.
	fits func(n int64, c *Facts) *Problem
}

// A Value is one of those that a field can have.
type Value struct {
	Name, Doc string
	Reference string // why it goes with preset: reference alone; empty where it does not
	// legal says why a communication that can have the field cannot have this value.
	legal func(c *Facts) *Problem
}

// A Problem is why a communication cannot have a choice, and what to do about it.
type Problem struct {
	Why, Hint string
	// Inapplicable: the choice says nothing of this communication, and may do so of others.
	Inapplicable bool
}

// Named finds a field; there is none without a name.
func Named(name string) (Field, bool) {
	at := slices.IndexFunc(Fields, func(f Field) bool { return f.Name == name })
	if at < 0 {
		return Field{}, false
	}
	return Fields[at], true
}

// Names lists the fields of a scope in the order of the table.
func Names(scope Scope) []string {
	var names []string
	for _, f := range Fields {
		if f.Scope == scope {
			names = append(names, f.Name)
		}
	}
	return names
}

// IsNumber reports whether the field can be a number.
func (f Field) IsNumber() bool { return f.High != 0 }

// ValueNames lists what a field can be; nil for a number or a mesh axis.
func (f Field) ValueNames() []string {
	var names []string
	for _, v := range f.Values {
		names = append(names, v.Name)
	}
	return names
}

// value is one of the field's.
func (f Field) value(name string) Value {
	at := slices.IndexFunc(f.Values, func(v Value) bool { return v.Name == name })
	if at < 0 {
		return Value{}
	}
	return f.Values[at]
}

// Can reports whether the field can have a value, as far as its form goes.
func (f Field) Can(value string) bool {
	if slices.Contains(f.ValueNames(), value) {
		return true
	}
	n, err := expr.Integer(value)
	return f.MeshAxis && value != "" || f.IsNumber() && err == nil && f.Low <= n && n <= f.High
}

// Completions are what a shell may offer for the field: its values.
func (f Field) Completions() []string {
	names := f.ValueNames()
	if f.IsNumber() {
		names = append(names, strconv.FormatInt(f.Low, 10), strconv.FormatInt(f.High, 10))
	}
	if f.MeshAxis {
		return []string{"x", "y", "z"}
	}
	return names
}

// Presets lists the values of the field preset.
func Presets() []string {
	f, _ := Named(Preset)
	return f.ValueNames()
}
