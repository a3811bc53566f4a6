package lowering

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// inSpec reports whether a tensor is one of the spec, which its author knows by its name.
func inSpec(p *hostir.Program, t *hostir.Tensor) bool {
	return t.Role == hostir.Input || t.Role == hostir.Output ||
		slices.ContainsFunc(p.Reference, func(op hostir.RefOp) bool { return op.Out == t.Name })
}

// called is what a message calls a tensor: its name, or for one that a pass made what it is
// made of, since a name that the spec does not have says nothing to its author.
func called(p *hostir.Program, t *hostir.Tensor) string {
	for made, steps := t, 0; steps < len(p.Tensors); steps++ {
		if inSpec(p, made) {
			if made == t {
				return t.Name
			}
			return "the copy or view of " + made.Name + " that is made for it"
		}
		var from *hostir.Tensor
		hostir.Walk(p.Body, func(s hostir.Stmt) bool {
			if uses := hostir.Uses(s); from == nil && hostir.Result(s) == made && len(uses) > 0 && uses[0] != made {
				from = uses[0]
			}
			return from == nil
		})
		if from == nil {
			break
		}
		made = from
	}
	// What is not in the program yet is called after what it is made of: A_s, A_all_s.
	for name := t.Name; ; {
		at := strings.LastIndexByte(name, '_')
		if at < 0 {
			return "an intermediate result of this operation"
		}
		name = name[:at]
		if slices.ContainsFunc(p.Tensors, func(o *hostir.Tensor) bool { return o.Name == name && inSpec(p, o) }) {
			return "the copy or view of " + name + " that is made for it"
		}
	}
}

// noteDeclared points at where a tensor of the spec is declared.
func noteDeclared(d *diag.Diagnostic, p *hostir.Program, t *hostir.Tensor) *diag.Diagnostic {
	if inSpec(p, t) {
		d.AddNote(t.Pos, "%s is declared here", t.Name)
	}
	return d
}
