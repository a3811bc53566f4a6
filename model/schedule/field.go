package schedule

import (
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/internal/base/expr"
)

// Scope is the owner of a field: the program, or each communication.
type Scope int

// The scopes.
const (
	Program       Scope = iota // the whole program
	Communication              // each communication, or All
)

// A Field is a row of the table: one field of the schedule.
type Field struct {
	Name  string
	Scope Scope
	// Values are the named values of the field; nil for a number or a mesh axis. A field with Values and a range of
	// numbers allows both.
	Values []Value
	// Low and High are the limits of a number. Both are 0 for other fields.
	Low, High int64
	MeshAxis  bool   // the value is the name of a mesh axis
	Default   string // empty if the field stays open by default
	// UnderReference is the default with preset: reference, if it differs.
	UnderReference string
	// Reference is the reason why the field needs preset: reference; empty: it does not.
	Reference string
	// Pipelines are the kinds of pipeline to which the field applies; nil for all.
	Pipelines []string
	// Structural is true for fields that shape a loop: all communications of a loop have the same value.
	Structural bool
	Doc        string
	// legal returns the reason why a communication cannot have the field, or nil. A nil legal accepts all.
	legal func(c *Facts) *Problem
	// fits returns the reason why a communication cannot have a number, or nil. A nil fits accepts all.
	fits func(n int64, c *Facts) *Problem
}

// A Value is a possible value of a field.
type Value struct {
	Name, Doc string
	Reference string // why it needs preset: reference; empty: it does not
	// legal returns the reason why a communication that can have the field cannot have this value, or nil. A nil legal
	// accepts all.
	legal func(c *Facts) *Problem
}

// A Problem is the reason why a schedule or a communication cannot have a choice, and a hint.
type Problem struct {
	Why, Hint string
	// Inapplicable is true if the choice does not apply to this communication, but may apply to others.
	Inapplicable bool
}

// Named finds a field by name. It returns false if there is none.
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

// ValueNames lists the named values of a field; nil if it has none.
func (f Field) ValueNames() []string {
	var names []string
	for _, v := range f.Values {
		names = append(names, v.Name)
	}
	return names
}

// value returns the named value of the field, or an empty Value if there is none.
func (f Field) value(name string) Value {
	at := slices.IndexFunc(f.Values, func(v Value) bool { return v.Name == name })
	if at < 0 {
		return Value{}
	}
	return f.Values[at]
}

// Can reports whether a value has a valid form for the field: a named value, a number in its range, or for a mesh axis any
// text that is not empty.
func (f Field) Can(value string) bool {
	if slices.Contains(f.ValueNames(), value) {
		return true
	}
	n, err := expr.Integer(value)
	return f.MeshAxis && value != "" || f.IsNumber() && err == nil && f.Low <= n && n <= f.High
}

// Completions returns the values that a shell may offer for the field: its named values and limits, or the names of the mesh axes.
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
