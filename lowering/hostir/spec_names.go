package hostir

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/domain"
)

// Called returns the name of a tensor in a message about a statement. The author of a spec does not know names that passes made.
// So if the statement is one operation of the spec, Called names operands and the result as the spec does. It calls a copy or view
// of A "a copy of A". Any other tensor is "an intermediate result", followed by the operation if that is known.
func Called(p *Program, s Stmt, t *Tensor) string {
	op := operationOf(p, s)
	if named := named(p, op, s, t); named != nil {
		return named.Name
	}
	if from := copied(p, t); from != nil {
		return "a copy of " + from.Name
	}
	if op == nil {
		return "an intermediate result"
	}
	return fmt.Sprintf("an intermediate result of %s(%s)", spelled(op), strings.Join(op.In, ", "))
}

// Declared returns the tensor of the spec whose name Called uses unchanged, or nil.
func Declared(p *Program, s Stmt, t *Tensor) *Tensor { return named(p, operationOf(p, s), s, t) }

// InSpec reports whether a tensor is an input, an output or the result of an operation of the model. Its name is known to the author
// of the spec, unless the expansion of an operation made the tensor, such as Y_ones for Y = cumsum(X).
func InSpec(p *Program, t *Tensor) bool {
	return t.Role == Input || t.Role == Output ||
		slices.ContainsFunc(p.Reference, func(op domain.Operation) bool { return slices.Contains(op.Results(), t.Name) })
}

// NamedInSpec reports whether a name belongs to an operand or a result of an operation of the model, or is derived from one, such as
// A_all.
func NamedInSpec(p *Program, name string) bool {
	for {
		names := func(op domain.Operation) bool {
			return slices.Contains(op.Results(), name) || slices.Contains(op.In, name)
		}
		if slices.ContainsFunc(p.Reference, names) {
			return true
		}
		cut := strings.LastIndexByte(name, '_')
		if cut < 0 {
			return false
		}
		name = name[:cut]
	}
}

// operationOf returns the operation of the spec that a statement comes from, by its position; nil if no operation, or several,
// have that position.
func operationOf(p *Program, s Stmt) *domain.Operation {
	var found *domain.Operation
	for i, op := range p.Reference {
		if op.Pos != s.Meta().Pos {
			continue
		}
		if found != nil {
			return nil
		}
		found = &p.Reference[i]
	}
	return found
}

// named returns the tensor of the spec that a tensor corresponds to: itself, or the operand or result of the operation that it
// replaces in s; nil if there is none.
func named(p *Program, op *domain.Operation, s Stmt, t *Tensor) *Tensor {
	if InSpec(p, t) {
		return t
	}
	fused, isKernel := s.(*Fused)
	if op == nil || isKernel && len(fused.Body) > 1 || !isKernel && !strings.EqualFold(op.Kind, Op(s)) {
		return nil
	}
	name := op.Out
	if t != Result(s) {
		at := slices.Index(Uses(s), t)
		if at < 0 || at >= len(op.In) {
			return nil
		}
		name = op.In[at]
	}
	at := slices.IndexFunc(p.Tensors, func(t *Tensor) bool { return t.Name == name })
	if at < 0 {
		return nil
	}
	return p.Tensors[at]
}

// copied returns the tensor of the spec that t is a copy or a view of, in one or several steps; nil if there is none.
func copied(p *Program, t *Tensor) *Tensor {
	for range p.Tensors {
		var from *Tensor
		if t.Of != nil {
			from = Uses(t.Of)[0]
		}
		for s := range All(p.Body) {
			if uses := Uses(s); from == nil && (Is[*Set](s) || MakesView(s)) && Result(s) == t && uses[0] != t {
				from = uses[0]
			}
		}
		if from == nil {
			break
		}
		if t = from; InSpec(p, t) {
			return t
		}
	}
	// A tensor that is not in the program yet has a name derived from its source: A_s, A_all_s.
	for name := t.Name; strings.Contains(name, "_"); {
		name = name[:strings.LastIndexByte(name, '_')]
		at := slices.IndexFunc(p.Tensors, func(o *Tensor) bool { return o.Name == name && InSpec(p, o) })
		if at >= 0 && !isMade(p.Body, p.Tensors[at]) {
			return p.Tensors[at]
		}
	}
	return nil
}

// isMade reports whether a statement of body makes t. If so, a tensor whose name is derived from the name of t is not a copy of
// t, but an intermediate result.
func isMade(body []Stmt, t *Tensor) bool {
	return Any(body, func(s Stmt) bool { return Result(s) == t })
}

// spelled returns an operation as in a spec, without its operands: "C = matmul".
func spelled(op *domain.Operation) string {
	fn := op.Fn
	if fn == "" {
		fn = op.Kind
	}
	fn, _, _ = strings.Cut(fn, "(")
	return op.Out + " = " + fn
}

// NoteDeclared adds to d a note with the declaration of t in the spec, if Called uses a name of the spec for t. It returns d.
func NoteDeclared(d *diag.Diagnostic, p *Program, s Stmt, t *Tensor) *diag.Diagnostic {
	if declared := Declared(p, s, t); declared != nil {
		d.AddNote(declared.Pos, "%s is declared here", declared.Name)
	}
	return d
}
