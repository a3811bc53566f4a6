package model

import (
	"errors"
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// parameters evaluates the parameters in order. Each may depend on earlier parameters.
func (a *assembler) parameters() {
	for _, sp := range a.src.params {
		name := sp.name.value
		if !checkName(a.list, sp.name, "a parameter", false) || !a.scope.declare(a.list, sp.name, "a parameter") {
			a.broken[name] = true
			continue
		}
		value, overridden := a.overrides[name]
		if !overridden && !sp.value.given() { // the missing value has been reported already
			a.broken[name] = true
			continue
		}
		var text string
		if !overridden {
			e, ok := a.eval(sp.value)
			if !ok {
				a.broken[name] = true
				continue
			}
			value, text = e.value, e.text
		}
		if value < 1 {
			a.broken[name] = true
			d := a.list.Add(sp.value.pos, diag.BadParam, "parameter %s is %d; a parameter is at least 1", name, value)
			if overridden {
				a.noteOverrides(d, name)
			}
			continue
		}
		a.params[name] = value
		a.p.Params = append(a.p.Params, Param{Name: name, Value: value, Text: text, Pos: sp.name.pos})
	}
	a.unknownOverrides()
}

// noteOverrides adds a note for each parameter in expression that has an override.
func (a *assembler) noteOverrides(d *diag.Diagnostic, expression string) {
	seen := map[string]bool{}
	for _, name := range expr.Names(expression) {
		if value, ok := a.overrides[name.Text]; ok && !seen[name.Text] {
			d.AddNote(diag.Pos{}, "%s = %d comes from the command line", name.Text, value)
			seen[name.Text] = true
		}
	}
}

func (a *assembler) unknownOverrides() {
	names := make([]string, 0, len(a.overrides))
	for name := range a.overrides {
		if _, ok := a.params[name]; !ok && !a.broken[name] {
			names = append(names, name)
		}
	}
	if a.src.incomplete {
		return
	}
	slices.Sort(names)
	for _, name := range names {
		d := a.list.Add(diag.Pos{File: a.src.file}, diag.UnknownParam, "there is no parameter %q to override", name)
		hintNearest(d, name, a.paramNames())
	}
}

// number is the value of an expression, and the text of the expression; text is empty for a plain number.
type number struct {
	value int64
	text  string
}

// eval computes an expression over the parameters and reports its errors. For a name in broken it returns false without
// another error.
func (a *assembler) eval(t text) (number, bool) {
	e, err := expr.Parse(t.value)
	if err != nil {
		a.syntax(t, err)
		return number{}, false
	}
	if !a.knownNames(t) {
		return number{}, false
	}
	value, err := expr.Eval(e, func(name string) (int64, bool) { v, ok := a.params[name]; return v, ok })
	if err != nil {
		a.evalFailed(t, err)
		return number{}, false
	}
	n := number{value: value, text: expr.Compact(e)}
	if _, plain := e.(expr.Int); plain {
		n.text = ""
	}
	return n, true
}

// syntax reports a text that is not an expression.
func (a *assembler) syntax(t text, err error) {
	var syntax *expr.SyntaxError
	if !errors.As(err, &syntax) {
		return // Parse has no other error
	}
	at := t.at(syntax.Offset)
	switch _, notFloat := strconv.ParseFloat(t.value, 64); {
	case syntax.Overflow:
		a.list.Add(at, diag.Overflow, "%s", err)
	case syntax.Plain != "":
		a.list.Add(at, diag.ExprSyntax, "%s", err).WithHint("write %s", syntax.Plain)
	case notFloat == nil:
		a.list.Add(t.pos, diag.ExprSyntax, "%s is not an integer", t.value)
	default:
		a.list.Add(at, diag.ExprSyntax, "%s in %q", err, t.value)
	}
}

func (a *assembler) knownNames(t text) bool {
	ok := true
	for _, name := range expr.Names(t.value) {
		if _, known := a.params[name.Text]; known {
			continue
		}
		ok = false
		if a.broken[name.Text] {
			continue
		}
		d := a.list.Add(t.at(name.Offset), diag.UnknownParam, "there is no parameter %q", name.Text)
		hintNearest(d, name.Text, a.paramNames())
	}
	return ok
}

func (a *assembler) paramNames() []string {
	return lists.Map(a.p.Params, func(p Param) string { return p.Name })
}

func (a *assembler) evalFailed(t text, err error) {
	code := diag.Overflow
	var failed *expr.EvalError
	if errors.As(err, &failed) {
		switch failed.Failure {
		case expr.Inexact:
			code = diag.InexactDivision
		case expr.ZeroDivisor:
			code = diag.ZeroDivisor
		default: // unknown names have been reported already
		}
	}
	a.noteOverrides(a.list.Add(t.pos, code, "%s", err), t.value)
}

// extent computes the extent of an axis. It reports an extent below 1 and returns false.
func (a *assembler) extent(t text) (domain.Extent, bool) {
	n, ok := a.eval(t)
	if !ok {
		return domain.Extent{}, false
	}
	e := domain.Extent{Text: n.text, Size: n.value}
	if e.Size < 1 {
		a.noteOverrides(a.list.Add(t.pos, diag.BadExtent, "the extent %s is less than 1", withValue(e)), t.value)
		return domain.Extent{}, false
	}
	return e, true
}
