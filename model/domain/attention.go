package domain

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Attention defines which keys a query sees, and the scale of the scores.
type Attention struct {
	Causal bool    // a query sees only the keys up to its own position
	Window int64   // only the last Window of these keys; 0: all
	Scale  float64 // factor of the scores Q K^T; an fp32 number
	Split  string  // meaning of the additional first axis of queries: SplitHeads or SplitRows; empty: no such axis
}

// Values of Attention.Split.
const (
	SplitHeads = "heads" // blocks of query heads
	SplitRows  = "rows"  // blocks of rows
)

// Splits lists the values of Attention.Split except the empty one.
var Splits = []string{SplitHeads, SplitRows}

// Fn spells an attention as the name of a function: "full(0.125)", "causal(0.125)", or "window(0.125, 4)",
// which is causal. The split comes last: "causal(0.125, heads)".
func (a Attention) Fn() string {
	name, list := "full", []string{strconv.FormatFloat(a.Scale, 'g', -1, 32)}
	switch {
	case a.Window > 0:
		name, list = "window", append(list, strconv.FormatInt(a.Window, 10))
	case a.Causal:
		name = "causal"
	}
	if a.Split != "" {
		list = append(list, a.Split)
	}
	return name + "(" + strings.Join(list, ", ") + ")"
}

// Attributes returns the attributes of the attention as a spec writes them: "causal=true", "scale=0.125".
func (a Attention) Attributes() []string {
	list := []string{"scale=" + strconv.FormatFloat(a.Scale, 'g', -1, 32)}
	if a.Causal {
		list = append([]string{"causal=true"}, list...)
	}
	if a.Window > 0 {
		list = append(list, fmt.Sprintf("window=%d", a.Window))
	}
	if a.Split != "" {
		list = append(list, "split="+a.Split)
	}
	return list
}

// AttentionOf parses a text that Fn returns, with any spaces around the arguments. ok is false for texts of another form.
func AttentionOf(fn string) (a Attention, ok bool) {
	name, constant := SplitFn(fn)
	list := strings.Split(constant, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	if last := list[len(list)-1]; slices.Contains(Splits, last) {
		a.Split, list = last, list[:len(list)-1]
	}
	if len(list) == 0 {
		return a, false
	}
	a.Scale, ok = attentionScale(list[0])
	switch {
	case name == "window" && len(list) == 2:
		var err error
		a.Window, err = strconv.ParseInt(list[1], 10, 64)
		a.Causal, ok = true, ok && err == nil && a.Window > 0
	case (name == "causal" || name == "full") && len(list) == 1:
		a.Causal = name == "causal"
	default:
		ok = false
	}
	return a, ok
}

func attentionScale(text string) (float64, bool) {
	scale, err := ParseDecimal(text)
	return scale, err == nil
}

// AttentionShape has the extents of an attention with O [blocks, batch, query heads, query rows, size] and
// K [batch, key heads, key rows, size]. Share query heads use the same key head. In the first block, the first row has
// position Start among the keys, and the first query head has number First among all query heads. Each later block adds
// RowsStep to the position and HeadsStep to the number.
type AttentionShape struct {
	Blocks, Batch, QueryHeads, KeyHeads, QueryRows, KeyRows, Size int64

	Start, First, Share int64
	RowsStep, HeadsStep int64 // what each later block adds to Start and to First

	Deterministic bool // the gradient must have the same bits on every run
}

// CudnnObstacle returns the reason why cuDNN cannot compute an attention of an element type, for any layout of its
// operands. It is empty if cuDNN may be able to. The runtime has the same rules: cudnn.cpp and book.cpp in src/attention.
func (s AttentionShape) CudnnObstacle(t DType, causal bool) string {
	switch {
	case t == FP32:
		return "it has no fp32 arithmetic"
	case s.Size%8 != 0:
		return "the head size is no multiple of 8"
	case causal && s.Start+s.QueryRows > s.KeyRows:
		return "queries come after the last key"
	case s.Deterministic:
		return "its gradient has other bits on every run"
	default:
		return ""
	}
}

// Shape computes the extents of an attention from the extents of its queries and keys. The last row of queries has the
// position of the last key. If there are more rows than keys, the first row has position 0.
func (a Attention) Shape(q, k []int64) AttentionShape {
	n := len(k)
	s := AttentionShape{Blocks: 1, Batch: 1, KeyHeads: k[n-3], KeyRows: k[n-2], Size: k[n-1]}
	if len(q) > n {
		s.Blocks, q = q[0], q[1:]
	}
	for _, extent := range k[:n-3] {
		s.Batch *= extent
	}
	s.QueryHeads, s.QueryRows = q[n-3], q[n-2]
	heads, rows := s.QueryHeads, s.QueryRows // totals over all blocks
	switch a.Split {
	case SplitHeads:
		s.HeadsStep = s.QueryHeads
		heads *= s.Blocks
	case SplitRows:
		s.RowsStep = s.QueryRows
		rows *= s.Blocks
	}
	s.Share = heads / s.KeyHeads
	s.Start = max(0, s.KeyRows-rows) // only full attentions have more queries than keys
	return s
}

// InBlocks reports whether the query heads of each block use whole key heads or a part of one key head. It is true if
// blocks do not split the heads.
func (s AttentionShape) InBlocks() bool {
	return s.HeadsStep == 0 || s.QueryHeads%s.Share == 0 || s.Share%s.QueryHeads == 0
}

// Run computes the results of an attention or of its gradient. From Q, K and V it computes O and L, as Forward does.
// From dO, Q, K, V, O and L it computes the gradients of Q, K and V, as Backward does.
func (a Attention) Run(s AttentionShape, in [][]float64) [][]float64 {
	if len(in) == 3 {
		o, logs := a.Forward(s, in[0], in[1], in[2])
		return [][]float64{o, logs}
	}
	dq, dk, dv := a.Backward(s, in[0], in[1], in[2], in[3], in[4], in[5])
	return [][]float64{dq, dk, dv}
}

// Forward computes softmax(scale Q K^T) V, and L, the log-sum-exp of each row of scores. All arrays are row-major.
func (a Attention) Forward(s AttentionShape, q, k, v []float64) (o, logs []float64) {
	o, logs = make([]float64, len(q)), make([]float64, int64(len(q))/s.Size)
	a.EachRow(s, func(row, first, last int64) {
		own, out := at(q, row, s.Size), at(o, row, s.Size)
		scores, most := make([]float64, last-first), math.Inf(-1)
		for j := range scores {
			scores[j] = a.Scale * dot(own, at(k, first+int64(j), s.Size))
			most = math.Max(most, scores[j])
		}
		sum := 0.0
		for j, score := range scores {
			weight := math.Exp(score - most)
			sum += weight
			addTo(out, weight, at(v, first+int64(j), s.Size))
		}
		for c := range out {
			out[c] /= sum
		}
		logs[row] = most + math.Log(sum)
	})
	return o, logs
}

// Backward computes the gradients of Q, K and V from the gradient of O and from the operands and results of Forward.
// Each block has separate gradients of K and V, and dk and dv are the concatenation of those arrays.
func (a Attention) Backward(s AttentionShape, do, q, k, v, o, logs []float64) (dq, dk, dv []float64) {
	dq, dk, dv = make([]float64, len(q)), make([]float64, s.Blocks*int64(len(k))), make([]float64, s.Blocks*int64(len(v)))
	perBlock := int64(len(logs)) / s.Blocks
	a.EachRow(s, func(row, first, last int64) {
		slope, own := at(do, row, s.Size), at(q, row, s.Size)
		along := dot(slope, at(o, row, s.Size))
		block := row / perBlock * int64(len(k)) / s.Size
		for n := first; n < last; n++ {
			weight := math.Exp(a.Scale*dot(own, at(k, n, s.Size)) - logs[row])
			score := a.Scale * weight * (dot(slope, at(v, n, s.Size)) - along)
			addTo(at(dq, row, s.Size), score, at(k, n, s.Size))
			addTo(at(dk, block+n, s.Size), score, own)
			addTo(at(dv, block+n, s.Size), weight, slope)
		}
	})
	return dq, dk, dv
}

// EachRow visits each row of queries with the range of key rows that it sees, first to last-1. Row numbers are indices
// into the row-major arrays: query rows count over all blocks, batches and heads, key rows over all batches and key heads.
func (a Attention) EachRow(s AttentionShape, visit func(row, first, last int64)) {
	for head := range s.Blocks * s.Batch * s.QueryHeads {
		block, batch := head/(s.Batch*s.QueryHeads), head/s.QueryHeads%s.Batch
		number := s.First + block*s.HeadsStep + head%s.QueryHeads
		keys := (batch*s.KeyHeads + number/s.Share) * s.KeyRows
		for i := range s.QueryRows {
			first, last := a.Seen(s.Start+block*s.RowsStep+i, s.KeyRows)
			visit(head*s.QueryRows+i, keys+first, keys+last)
		}
	}
}

// Seen returns the range of keys that a query at a position sees: first to last-1. Positions and keys count from 0.
func (a Attention) Seen(position, keys int64) (first, last int64) {
	last = keys
	if a.Causal {
		last = min(last, position+1)
	}
	if a.Window > 0 {
		first = max(0, position+1-a.Window)
	}
	return first, last
}

// SeenByAll returns how many keys consecutive queries, the first at position, see in total. Queries of a causal attention
// must not come after the last key.
func (a Attention) SeenByAll(position, queries, keys int64) float64 {
	if !a.Causal {
		return float64(queries) * float64(keys)
	}
	most := float64(keys)
	if a.Window > 0 {
		most = min(most, float64(a.Window))
	}
	before := func(position int64) float64 { // how many keys the queries below position see in total
		short := min(float64(position), most)
		return short*(short+1)/2 + (float64(position)-short)*most
	}
	return before(position+queries) - before(position)
}

// at returns one row of an array.
func at(data []float64, row, size int64) []float64 { return data[row*size : (row+1)*size] }

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

func addTo(sums []float64, by float64, values []float64) {
	for i, v := range values {
		sums[i] += by * v
	}
}
