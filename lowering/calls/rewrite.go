package calls

import "github.com/hirgen/hirgen/internal/expr"

// Rewriter is the archive that replaces parts of items. A function that is nil replaces nothing.
type Rewriter struct {
	Expression func(expr.Expr) expr.Expr
	Place      func(Pointer) Pointer
	Queue      func(Stream) Stream
	Noted      func(key, name string)
	Code       bool // leave shapes alone, which only comments show
}

func (r *Rewriter) Name(key string, v *string) {
	if r.Noted != nil && *v != "" {
		r.Noted(key, *v)
	}
}

func (r *Rewriter) Text(string, *string)  {}
func (r *Rewriter) Number(string, *int64) {}
func (r *Rewriter) Flag(string, *bool)    {}

func (r *Rewriter) Expr(_ string, v *expr.Expr) { //nolint:gocritic // an archive replaces what it is shown
	if *v != nil && r.Expression != nil {
		*v = r.Expression(*v)
	}
}

func (r *Rewriter) Exprs(key string, v *[]expr.Expr) {
	for i := range *v {
		if key == "shape" && r.Code {
			break
		}
		r.Expr(key, &(*v)[i])
	}
}

func (r *Rewriter) Pointer(key string, v *Pointer) {
	if v.Base == "" {
		return
	}
	r.Expr(key, &v.Peer)
	r.Expr(key, &v.Offset)
	if r.Place != nil {
		*v = r.Place(*v)
	}
}

func (r *Rewriter) Stream(key string, v *Stream) {
	r.Expr(key, &v.Index)
	if r.Queue != nil && *v != (Stream{}) {
		*v = r.Queue(*v)
	}
}

// RewriteAll rewrites all statements of a list, also inside others.
func RewriteAll(body []Stmt, r *Rewriter) {
	Walk(body, func(s Stmt) bool {
		s.Fields(r)
		return true
	})
}
