package calls

import "github.com/hirgen/hirgen/internal/expr"

// rewriter is the archive that replaces parts of items. A function that is nil replaces nothing.
type rewriter struct {
	expression func(expr.Expr) expr.Expr
	place      func(Pointer) Pointer
	queue      func(Stream) Stream
	noted      func(key, name string)
	code       bool // leave shapes alone, which only comments show
}

func (r *rewriter) name(key string, v *string) {
	if r.noted != nil && *v != "" {
		r.noted(key, *v)
	}
}

func (r *rewriter) text(string, *string)  {}
func (r *rewriter) number(string, *int64) {}
func (r *rewriter) flag(string, *bool)    {}

func (r *rewriter) expr(_ string, v *expr.Expr) { //nolint:gocritic // an archive replaces what it is shown
	if *v != nil && r.expression != nil {
		*v = r.expression(*v)
	}
}

func (r *rewriter) exprs(key string, v *[]expr.Expr) {
	for i := range *v {
		if key == "shape" && r.code {
			break
		}
		r.expr(key, &(*v)[i])
	}
}

func (r *rewriter) pointer(key string, v *Pointer) {
	if v.Base == "" {
		return
	}
	r.expr(key, &v.Peer)
	r.expr(key, &v.Offset)
	if r.place != nil {
		*v = r.place(*v)
	}
}

func (r *rewriter) stream(key string, v *Stream) {
	r.expr(key, &v.Index)
	if r.queue != nil && *v != (Stream{}) {
		*v = r.queue(*v)
	}
}

// variables calls visit for every name in an expression.
func variables(e expr.Expr, visit func(string)) {
	switch e := e.(type) {
	case expr.Var:
		visit(string(e))
	case *expr.Binary:
		variables(e.X, visit)
		variables(e.Y, visit)
	}
}

// rewriteAll rewrites all statements of a list, also inside others.
func rewriteAll(body []Stmt, r *rewriter) {
	Walk(body, func(s Stmt) bool {
		s.fields(r)
		return true
	})
}
