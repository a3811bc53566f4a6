package hostir

import (
	"slices"

	"github.com/hirgen/hirgen/model/domain"
)

// Attention is Out[0][batch..., heads, rows, size] = softmax(scale Q K^T) V, of the operands Q, K and V, and, as a
// further result, the logarithms of the sums of rows; or results are the gradients of Q, K and V,
// of the operands dO, Q, K, V, O and logarithms. There are as many query heads, or some times as many, as
// key heads. Q may have an axis more in front than K, which counts blocks of rows or of query heads; gradients of K and V
// then have it too, and are of that block alone.
type Attention struct {
	Info
	Out []*Tensor `text:"="`
	Fn  string    // as domain.AttentionOf reads it
	In  []*Tensor
}

// IsGrad reports whether it computes gradients.
func (s *Attention) IsGrad() bool { return len(s.In) > 3 }

// Queries are the operand in front of keys and values.
func (s *Attention) Queries() *Tensor { return s.In[s.first()] }

// Keys are the operand behind the queries.
func (s *Attention) Keys() *Tensor { return s.In[s.first()+1] }

// ReadsKeys reports whether an operand is the keys or the values.
func (s *Attention) ReadsKeys(t *Tensor) bool {
	return slices.Contains(s.In[s.first()+1:s.first()+3], t)
}

func (s *Attention) first() int {
	if s.IsGrad() {
		return 1
	}
	return 0
}

// Blocks is the axis of the queries that counts blocks, or Unmapped.
func (s *Attention) Blocks() int {
	if q := Live(s.Queries()); len(q) > len(Live(s.Keys())) {
		return q[0]
	}
	return Unmapped
}

// Kind is what it computes.
func (s *Attention) Kind() domain.Attention {
	a, _ := domain.AttentionOf(s.Fn)
	return a
}

// Shape is the extents on one rank, or of the whole tensors. Of blocks that are split over ranks, a rank has the
// one of its coordinate.
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

// axes aligns batches and heads of an operand or a further result with the result. A rank has all rows
// and all elements of these, and all heads where some share keys.
func (s *Attention) axes(t *Tensor) []int {
	row, from, to := unmapped(t), Live(t), Live(s.Out[0])
	back := 3 // axes from heads on
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

// Logs are the logarithms among operands or results, or nil.
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

// sharesKeys reports whether several heads of queries share one of several heads of keys, or which key head they have is a
// matter of their block. One head that all of them share is there on every rank, but its gradient is of all of them.
func (s *Attention) sharesKeys() bool {
	if s.Kind().Split == domain.SplitHeads {
		return true
	}
	q, k := Live(s.Queries()), Live(s.Keys())
	heads := s.Keys().Axes[k[len(k)-3]].Extent.Size
	return (heads > 1 || s.IsGrad()) && heads != s.Queries().Axes[q[len(q)-3]].Extent.Size
}

// FurtherMaps is AxisMap for the results behind the first one: which axis of that runs along with each of theirs.
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
			rows[i] = aligned(t, defs[0], 0, 0)
		}
	}
	return rows
}

// attentionAxes is the AxisMap of an Attention.
func attentionAxes(s *Attention) [][]int {
	rows := make([][]int, len(s.In))
	for i, t := range s.In {
		rows[i] = s.axes(t)
	}
	return rows
}

// OwnAxes lists the axes of a result that no axis of an operand runs along with, since each rank has all of them:
// rows and their elements, and heads that share keys.
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
