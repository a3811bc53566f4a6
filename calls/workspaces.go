package calls

import (
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// Workspace is memory that GEMMs and attentions of one stream use one after the other.
type Workspace struct {
	Shapes     []*Shape     // the shapes of its GEMMs, without duplicates
	Attentions []*Attention // its attentions, without duplicates
	Pos        diag.Pos     // of the first statement that uses it
}

// WorkspaceOf returns the workspace of a statement: the index of a compute stream, or nil for the caller's stream.
// works is false if the statement uses no workspace: it is neither a GEMM nor an attention, or it is an attention with
// scratch memory.
func WorkspaceOf(s Stmt) (index expr.Expr, works bool) {
	switch s := s.(type) {
	case *Gemm:
		return s.Workspace, true
	case *Attend:
		return s.Workspace, s.Scratch.Base == ""
	default:
		return nil, false
	}
}

// Workspaces returns the workspace of the caller's stream, and the workspace that each compute stream has; nil if no
// statement uses it.
func (p *Program) Workspaces() (caller, compute *Workspace) {
	shapes, attentions := ByName(p.Shapes), ByName(p.Attentions)
	has := map[*Workspace]map[string]bool{}
	for s := range All(p.Body) {
		index, works := WorkspaceOf(s)
		if !works {
			continue
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
	}
	return caller, compute
}
