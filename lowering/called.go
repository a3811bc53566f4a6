package lowering

import (
	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// noteDeclared points at where the tensor of the spec that a message calls by its name is declared.
func noteDeclared(d *diag.Diagnostic, p *hostir.Program, s hostir.Stmt, t *hostir.Tensor) *diag.Diagnostic {
	if declared := hostir.Declared(p, s, t); declared != nil {
		d.AddNote(declared.Pos, "%s is declared here", declared.Name)
	}
	return d
}
