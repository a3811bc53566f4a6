package calls

import (
	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/internal/expr"
)

// Workspace is memory that GEMMs and attentions work in, one after the other.
type Workspace struct {
	Shapes     []*Shape     // of its GEMMs, each once
	Attentions []*Attention // alike
	Pos        diag.Pos     // of the first statement that has it
}

// WorkspaceOf is the workspace that a statement works in: that of a compute stream by its index; nil is the caller's. An attention
// with a room works in none.
func WorkspaceOf(s Stmt) (index expr.Expr, works bool) {
	switch s := s.(type) {
	case *Gemm:
		return s.Workspace, true
	case *Attend:
		return s.Workspace, s.Room.Base == ""
	default:
		return nil, false
	}
}

// Workspaces are the caller's, and that of each compute stream; nil where no statement has it.
func (p *Program) Workspaces() (caller, compute *Workspace) {
	shapes, attentions := ByName(p.Shapes), ByName(p.Attentions)
	has := map[*Workspace]map[string]bool{}
	Walk(p.Body, func(s Stmt) bool {
		index, works := WorkspaceOf(s)
		if !works {
			return true
		}
		w := &caller
		if index != nil {
			w = &compute
		}
		if *w == nil {
			*w = &Workspace{Pos: s.Meta().Pos}
			has[*w] = map[string]bool{}
		}
		switch s := s.(type) {
		case *Gemm:
			if !has[*w][s.Shape] {
				has[*w][s.Shape] = true
				(*w).Shapes = append((*w).Shapes, shapes[s.Shape])
			}
		case *Attend:
			if !has[*w][s.Attention] {
				has[*w][s.Attention] = true
				(*w).Attentions = append((*w).Attentions, attentions[s.Attention])
			}
		}
		return true
	})
	return caller, compute
}
