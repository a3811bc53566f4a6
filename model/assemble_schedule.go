package model

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// schedule reads the choices of the schedule. Without a schedule, the preset is auto.
func (a *assembler) schedule() {
	before := a.list.Len()
	if !a.src.scheduled {
		a.p.Schedule.Set("", schedule.Preset, schedule.Auto)
	}
	first := map[string]diag.Pos{} // only a Builder can repeat a field: the YAML reader reports duplicate keys
	for _, f := range a.src.schedule {
		path := schedule.Path(f.of.value, f.name.value)
		if pos, twice := first[path]; twice {
			a.list.Add(f.name.pos, diag.DuplicateKey, "schedule has %q twice", path).AddNote(pos, "%q is here first", path)
			continue
		}
		first[path] = f.name.pos
		field, ok := schedule.Named(f.name.value)
		if !ok || (field.Scope == schedule.Program) == f.of.given() {
			a.misplaced(f, field, ok)
			continue
		}
		if value, ok := a.choiceOf(field, f.value, path); ok {
			a.p.Schedule.Put(schedule.Choice{Of: f.of.value, Field: field.Name, Value: value, Pos: f.value.pos})
		}
	}
	if a.list.Len() == before {
		schedule.Check(&a.p.Schedule, a.list)
		a.p.Schedule.LeaveTransportOpen()
	}
}

// misplaced reports a field that does not exist, or that belongs to the other scope. known is whether the field exists.
func (a *assembler) misplaced(f sourceField, field schedule.Field, known bool) {
	if f.name.value == schedule.All && !f.of.given() {
		a.list.Add(f.name.pos, diag.UnknownField, "all has fields of the communications, and no value %s", f.value.value).
			WithHint("say all: {via: %s}, for example", schedule.NCCL)
		return
	}
	here, names := "the schedule has no field %q", schedule.Names(schedule.Program)
	if f.of.given() {
		here, names = "a communication has no field %q", schedule.Names(schedule.Communication)
	}
	d := a.list.Add(f.name.pos, diag.UnknownField, here, f.name.value)
	hint := schedule.Respelled(f.name.value, f.value.value)
	switch {
	case hint != "":
		d.WithHint("%s", hint)
	case known && field.Scope == schedule.Communication:
		d.WithHint("say all: {%s: %s}, or the name of a communication in place of all", field.Name, f.value.value)
	case known:
		d.WithHint("it is one of the whole program: say %s: %s beside %s", field.Name, f.value.value, f.of.value)
	case !f.of.given() && slices.Contains(schedule.Presets(), f.name.value):
		d.WithHint("say schedule: %s, or preset: %s", f.name.value, f.name.value)
	default:
		hintNearest(d, f.name.value, names)
	}
}

// choiceOf reads the value of a field. For a number it evaluates the expression and returns the value in decimal. It
// returns false after it has reported an error.
func (a *assembler) choiceOf(f schedule.Field, t text, path string) (string, bool) {
	known := slices.Contains(f.ValueNames(), t.value)
	switch {
	case f.IsNumber() && !known && (f.Values == nil || a.isNumber(t)):
		n, ok := a.eval(t)
		if !ok {
			return "", false
		}
		value := strconv.FormatInt(n.value, 10)
		if !f.Can(value) {
			code := diag.BadChoice
			if f.Name == schedule.Streams {
				code = diag.BadStreams
			}
			a.list.Add(t.pos, code, "schedule.%s: %s is not possible; it is %s%d to %d", path, value, strings.Join(append(f.ValueNames(), ""), ", "),
				f.Low, f.High)
		}
		return value, f.Can(value)
	case f.MeshAxis:
		return t.value, a.meshAxisNamed(t, path)
	case !f.Can(t.value):
		d := a.list.Add(t.pos, diag.BadChoice, "schedule.%s: it cannot be %q", path, t.value)
		if hint := schedule.RespelledValue(f.Name, t.value); hint != "" {
			d.WithHint("%s", hint)
		} else {
			hintNearest(d, t.value, f.ValueNames())
		}
		return "", false
	}
	return t.value, true
}

// isNumber reports whether a text is an expression over known parameters, or a number in a form that specs do not
// allow.
func (a *assembler) isNumber(t text) bool {
	e, err := expr.Parse(t.value)
	var syntax *expr.SyntaxError
	if errors.As(err, &syntax) && syntax.Plain != "" {
		return true
	}
	known := err == nil
	expr.Variables(e, func(name string) {
		_, has := a.params[name]
		known = known && has
	})
	return known
}

// meshAxisNamed checks that some mesh has the axis t. It returns false after it has reported an error.
func (a *assembler) meshAxisNamed(t text, path string) bool {
	has := func(m *domain.Mesh) bool { return m.Axis(t.value) != nil }
	if len(a.p.Meshes) == 0 || slices.ContainsFunc(a.p.Meshes, has) {
		return true
	}
	a.list.Add(t.pos, diag.BadChoice, "schedule.%s: no mesh has an axis %q", path, t.value)
	return false
}
