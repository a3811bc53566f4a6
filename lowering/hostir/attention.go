package hostir

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// Attention computes Out[0][batch..., heads, rows, size] = softmax(scale Q K^T) V from the operands Q, K and V. Fn has the scale
// and the mask. An additional result has the log-sum-exp of each row of scores. With six operands, dO, Q, K, V, O and the
// log-sum-exps, it computes the gradients of Q, K and V instead. The number of query heads is a multiple of the number of key
// heads. Q may have one more leading axis than K, which counts blocks of rows or of query heads. Gradients of K and V then have
// this axis too, and contain the contribution of each block alone.
type Attention struct {
	Info
	Out []*Tensor `text:"="`
	Fn  string    // in the syntax of domain.AttentionOf
	In  []*Tensor
}

// IsGrad reports whether the statement computes gradients.
func (s *Attention) IsGrad() bool { return len(s.In) > 3 }

// Queries returns the operand Q.
func (s *Attention) Queries() *Tensor { return s.In[s.first()] }

// Keys returns the operand K.
func (s *Attention) Keys() *Tensor { return s.In[s.first()+1] }

// ReadsKeys reports whether a tensor is K or V.
func (s *Attention) ReadsKeys(t *Tensor) bool {
	return slices.Contains(s.In[s.first()+1:s.first()+3], t)
}

func (s *Attention) first() int {
	if s.IsGrad() {
		return 1
	}
	return 0
}

// Blocks returns the axis of Q that counts blocks; Unmapped if there is none.
func (s *Attention) Blocks() int {
	if q := Live(s.Queries()); len(q) > len(Live(s.Keys())) {
		return q[0]
	}
	return Unmapped
}

// Kind returns the parsed Fn.
func (s *Attention) Kind() domain.Attention {
	a, _ := domain.AttentionOf(s.Fn)
	return a
}

// Shape returns the extents of the whole tensors if whole is set, and those on one rank otherwise. If blocks are split over
// ranks, each rank has the block of its coordinate, which the function coordinate returns for an axis of a mesh.
func (s *Attention) Shape(whole bool, coordinate func(m *domain.Mesh, axis string) int64) domain.AttentionShape {
	all := s.Kind().Shape(domain.Shape(s.Queries().Axes), domain.Shape(s.Keys().Axes))
	if whole {
		return all
	}
	local := s.Kind().Shape(LocalShape(s.Queries()), LocalShape(s.Keys()))
	if all.Blocks > 1 {
		local.Share = all.Share
	}
	local.Start = all.Start
	if b := s.Blocks(); b != Unmapped && SplitOver(s.Queries().Axes[b]) != "" {
		at := coordinate(s.Queries().Mesh, s.Queries().Axes[b].Mesh)
		local.Start += all.RowsStep * at
		local.First = all.HeadsStep * at
	}
	return local
}

// axes maps the axes of an operand or a result that precede the rows (blocks, batches and heads) to those of the first result. It
// does not map rows and elements, because each rank has all of them, nor heads if K has none or sharesKeys reports true.
func (s *Attention) axes(t *Tensor) []int {
	row, from, to := unmapped(t), Live(t), Live(s.Out[0])
	back := 3 // heads, rows and elements
	if t == s.Logs() {
		back = 2
	}
	heads := back
	if own := Live(s.Keys()); len(own) < 3 || len(to) < 3 || s.sharesKeys() {
		heads = back + 1
	}
	for i := heads; i <= len(from) && i-back+3 <= len(to); i++ {
		row[from[len(from)-i]] = to[len(to)-(i-back+3)]
	}
	return row
}

// Logs returns the tensor of log-sum-exps: the last operand of a gradient, or else the second result; nil if there is none.
func (s *Attention) Logs() *Tensor {
	switch {
	case s.IsGrad():
		return s.In[len(s.In)-1]
	case len(s.Out) > 1:
		return s.Out[1]
	default:
		return nil
	}
}

// sharesKeys reports whether several query heads share one of several key heads, or the key head of a query head depends on its
// block. If K has a single head, every rank has that head. sharesKeys then reports true only for a gradient with several query
// heads, because the gradients of K and V sum over these.
func (s *Attention) sharesKeys() bool {
	if s.Kind().Split == domain.SplitHeads {
		return true
	}
	q, k := Live(s.Queries()), Live(s.Keys())
	heads := s.Keys().Axes[k[len(k)-3]].Size
	return (heads > 1 || s.IsGrad()) && heads != s.Queries().Axes[q[len(q)-3]].Size
}

// FurtherMaps is like AxisMap for the additional results: for each of their axes, it returns the matching axis of the first
// result, or Unmapped. It is nil for a statement with fewer than two results.
func FurtherMaps(s Stmt) [][]int {
	defs := Defs(s)
	if len(defs) < 2 {
		return nil
	}
	rows := make([][]int, len(defs)-1)
	for i, t := range defs[1:] {
		if a, ok := s.(*Attention); ok {
			rows[i] = a.axes(t)
		} else {
			rows[i] = aligned(t, defs[0], 0, len(Live(defs[0]))-len(Live(t))) // a result with one value for each row lacks the columns
		}
	}
	return rows
}

// attentionAxes returns the AxisMap of an Attention.
func attentionAxes(s *Attention) [][]int {
	return lists.Map(s.In, s.axes)
}

// OwnAxes lists the axes of the first result that match no axis of an operand, because each rank has all of them. These are
// rows, their elements and, if axes does not map them, heads.
func (s *Attention) OwnAxes() []int {
	row := s.axes(s.Out[0])
	var own []int
	for _, axis := range Live(s.Out[0]) {
		if !slices.Contains(row, axis) {
			own = append(own, axis)
		}
	}
	return own
}
