package domain

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Attention is which keys a query sees, and by what the products of queries and keys are multiplied.
type Attention struct {
	Causal bool    // those up to its own position
	Window int64   // the last so many of these; 0: all
	Scale  float64 // rounded to fp32
}

// Fn spells an attention as the name of a function: "full(0.125)", "causal(0.125)", or "window(0.125, 4)",
// which is causal.
func (a Attention) Fn() string {
	scale := strconv.FormatFloat(a.Scale, 'g', -1, 32)
	switch {
	case a.Window > 0:
		return fmt.Sprintf("window(%s, %d)", scale, a.Window)
	case a.Causal:
		return "causal(" + scale + ")"
	default:
		return "full(" + scale + ")"
	}
}

// Attributes are what a spec writes to have it.
func (a Attention) Attributes() []string {
	list := []string{"scale=" + strconv.FormatFloat(a.Scale, 'g', -1, 32)}
	if a.Causal {
		list = append([]string{"causal=true"}, list...)
	}
	if a.Window > 0 {
		list = append(list, fmt.Sprintf("window=%d", a.Window))
	}
	return list
}

// AttentionOf reads what Fn spells.
func AttentionOf(fn string) (a Attention, ok bool) {
	name, constant := SplitFn(fn)
	scale, window, windowed := strings.Cut(constant, ",")
	if a.Scale, ok = attentionScale(scale); !ok || windowed != (name == "window") {
		return a, false
	}
	switch name {
	case "window":
		var err error
		a.Window, err = strconv.ParseInt(strings.TrimSpace(window), 10, 64)
		a.Causal, ok = true, err == nil && a.Window > 0
	case "causal", "full":
		a.Causal = name == "causal"
	default:
		ok = false
	}
	return a, ok
}

func attentionScale(text string) (float64, bool) {
	scale, err := ParseDecimal(strings.TrimSpace(text))
	return scale, err == nil
}

// AttentionShape is the extents of an attention: O[blocks, batch, query heads, query rows, size] of
// K[batch, key heads, key rows, size]. As many query heads as there are for each key head share it. The
// rows of blocks stand one behind the other, the first one at position Start among the keys.
type AttentionShape struct {
	Blocks, Batch, QueryHeads, KeyHeads, QueryRows, KeyRows, Size, Start int64
}

// AttentionShapeOf reads the extents of an attention from those of its queries and keys. The queries may have
// one axis more, in front, which counts blocks; the last row of the last one stands at the last key.
func AttentionShapeOf(q, k []int64) AttentionShape {
	n := len(k)
	s := AttentionShape{Blocks: 1, Batch: 1, KeyHeads: k[n-3], KeyRows: k[n-2], Size: k[n-1]}
	if len(q) > n {
		s.Blocks, q = q[0], q[1:]
	}
	for _, extent := range k[:n-3] {
		s.Batch *= extent
	}
	s.QueryHeads, s.QueryRows = q[n-3], q[n-2]
	s.Start = max(0, s.KeyRows-s.Blocks*s.QueryRows) // more queries than keys: only where all see all
	return s
}

// Run computes what there is of operands in order: O and logarithms of Q, K and V, or the gradients of these of dO,
// Q, K, V, O and logarithms.
func (a Attention) Run(s AttentionShape, in [][]float64) [][]float64 {
	if len(in) == 3 {
		o, logs := a.Forward(s, in[0], in[1], in[2])
		return [][]float64{o, logs}
	}
	dq, dk, dv := a.Backward(s, in[0], in[1], in[2], in[3], in[4], in[5])
	return [][]float64{dq, dk, dv}
}

// Forward computes softmax(scale Q K^T) V, and the logarithm of the sum of exponentials of each row. All
// arrays are row-major.
func (a Attention) Forward(s AttentionShape, q, k, v []float64) (o, logs []float64) {
	o, logs = make([]float64, len(q)), make([]float64, int64(len(q))/s.Size)
	a.rows(s, func(row, first, last int64, key func(j int64) int64) {
		own, out := at(q, row, s.Size), at(o, row, s.Size)
		scores, most := make([]float64, last-first), math.Inf(-1)
		for j := range scores {
			scores[j] = a.Scale * dot(own, at(k, key(first+int64(j)), s.Size))
			most = math.Max(most, scores[j])
		}
		sum := 0.0
		for j, score := range scores {
			weight := math.Exp(score - most)
			sum += weight
			addTo(out, weight, at(v, key(first+int64(j)), s.Size))
		}
		for c := range out {
			out[c] /= sum
		}
		logs[row] = most + math.Log(sum)
	})
	return o, logs
}

// Backward computes the gradients of Q, K and V from that of O, and from what Forward was given and gave.
// Those of K and V are of each block by itself: an array for each, one behind the other.
func (a Attention) Backward(s AttentionShape, do, q, k, v, o, logs []float64) (dq, dk, dv []float64) {
	dq, dk, dv = make([]float64, len(q)), make([]float64, s.Blocks*int64(len(k))), make([]float64, s.Blocks*int64(len(v)))
	perBlock := int64(len(logs)) / s.Blocks
	a.rows(s, func(row, first, last int64, key func(j int64) int64) {
		slope, own := at(do, row, s.Size), at(q, row, s.Size)
		along := dot(slope, at(o, row, s.Size))
		block := row / perBlock * int64(len(k)) / s.Size
		for j := first; j < last; j++ {
			n := key(j)
			weight := math.Exp(a.Scale*dot(own, at(k, n, s.Size)) - logs[row])
			score := a.Scale * weight * (dot(slope, at(v, n, s.Size)) - along)
			addTo(at(dq, row, s.Size), score, at(k, n, s.Size))
			addTo(at(dk, block+n, s.Size), score, own)
			addTo(at(dv, block+n, s.Size), weight, slope)
		}
	})
	return dq, dk, dv
}

// rows visits the rows of queries, with the keys that they see, first to last-1, and the row of a key among
// those of all heads.
func (a Attention) rows(s AttentionShape, visit func(row, first, last int64, key func(j int64) int64)) {
	for head := range s.Blocks * s.Batch * s.QueryHeads {
		block, batch := head/(s.Batch*s.QueryHeads), head/s.QueryHeads%s.Batch
		keys := (batch*s.KeyHeads + head%s.QueryHeads/(s.QueryHeads/s.KeyHeads)) * s.KeyRows
		for i := range s.QueryRows {
			first, last := a.Seen(s.Start+block*s.QueryRows+i, s.KeyRows)
			visit(head*s.QueryRows+i, first, last, func(j int64) int64 { return keys + j })
		}
	}
}

// Seen gives the keys that a query at a position sees: first to last-1.
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

// at is one row of an array.
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
