package values

import (
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/prove/unroll"
)

// gemm runs a GEMM with its addend, bias and epilogue. Operands are [batch, rows, columns].
func (m *machine) gemm(o *unroll.Op, views operands) {
	s, ok := m.p.Stmts[o.Stmt].(*calls.Gemm)
	for _, n := range []int16{effects.Out, effects.A, effects.B} {
		_, there := views[n]
		ok = ok && there
	}
	if !ok {
		m.fail(o.Stmt, "it has no result, or no terms")
		return
	}
	out, a, b := views[effects.Out], views[effects.A].read(), views[effects.B].read()
	batch, rows, columns := out.extents[0], out.extents[1], out.extents[2]
	k := views[effects.A].extents[2]
	d := m.shapes[s.Shape]
	if d.Scales {
		out.write(m.scaledSums(views, a, b), o.Stmt)
		return
	}
	sums := make([]float64, batch*rows*columns)
	if addend, ok := views[effects.Addend]; ok {
		copy(sums, addend.read())
	}
	for q := range batch {
		for i := range rows {
			sum := part(sums, q*rows+i, columns)
			for l := range k {
				addProducts(sum, a[(q*rows+i)*k+l], part(b, q*k+l, columns))
			}
			if bias, ok := views[effects.Bias]; ok {
				addProducts(sum, 1, bias.read())
			}
		}
	}
	if d.Then != "" {
		fn := m.f.unary(d.Then)
		for i, v := range sums {
			sums[i] = fn(v)
		}
	}
	if d.RowScales {
		scalesA, scalesB, mul := views[effects.ScalesA].read(), views[effects.ScalesB].read(), m.f.binary("mul")
		for i := range sums {
			sums[i] = mul(mul(sums[i], scalesA[int64(i)/columns]), scalesB[int64(i)%columns])
		}
	}
	out.write(sums, o.Stmt)
}

// scaledSums returns the result of a GEMM whose operands have a scale for each block, row-major [rows, columns]. a is
// [rows, k] and b is [k, columns], without their scales.
func (m *machine) scaledSums(views operands, a, b []float64) []float64 {
	const block = domain.BlockRow
	scalesA, scalesB, mul := views[effects.ScalesA].read(), views[effects.ScalesB].read(), m.f.binary("mul")
	rows, columns, k := views[effects.Out].extents[1], views[effects.Out].extents[2], views[effects.A].extents[2]
	sums, blocks := make([]float64, rows*columns), k/block
	for i := range rows {
		for l := range blocks {
			products := make([]float64, columns)
			for at := l * block; at < (l+1)*block; at++ {
				addProducts(products, a[i*k+at], part(b, at, columns))
			}
			for j := range columns / block {
				addProducts(sums[i*columns+j*block:][:block], mul(scalesA[i*blocks+l], scalesB[j*blocks+l]), products[j*block:][:block])
			}
		}
	}
	return sums
}

// attend computes an attention, or its gradients.
func (m *machine) attend(rank int32, o *unroll.Op, views operands) {
	s, _ := m.p.Stmts[o.Stmt].(*calls.Attend)
	d := calls.ByName(m.p.Calls.Attentions)[s.Attention]
	a, ok := domain.AttentionOf(d.Fn)
	if !ok {
		m.fail(o.Stmt, "there is no attention %q", d.Fn)
		return
	}
	shape := m.p.Calls.AttentionShape(d, int64(rank))
	in, out := effects.Arguments(s)
	data := make([][]float64, len(in))
	for i, n := range in {
		data[i] = views[n].read()
	}
	for i, made := range m.f.attend(a, shape, data) {
		if v, wanted := views[out[i]]; wanted {
			v.write(made, o.Stmt)
		}
	}
}

// peerSum adds the partial sums of ranks, each from one or several accesses. It stores the sum in the result and, if two-shot, at the
// peers.
func (m *machine) peerSum(r *unroll.Rank, o *unroll.Op) {
	var out []view
	parts := map[int32][]float64{} // parts by owner
	var order []int32
	for _, a := range r.AccessesOf(o) {
		switch {
		case a.Operand < 0:
		case a.Write:
			out = append(out, m.view(a))
		default:
			if parts[a.Owner] == nil {
				order = append(order, a.Owner)
			}
			parts[a.Owner] = append(parts[a.Owner], m.view(a).read()...)
		}
	}
	sum := make([]float64, len(out[0].read()))
	for _, owner := range order {
		if len(parts[owner]) != len(sum) {
			m.fail(o.Stmt, "%d elements of rank %d are added to %d", len(parts[owner]), owner, len(sum))
			return
		}
		addProducts(sum, 1, parts[owner])
	}
	out[0].write(sum, o.Stmt)
	stored := map[*cells]int64{} // number of elements stored in each peer's memory
	for _, v := range out[1:] {
		n := int64(len(v.read()))
		from := stored[v.cells]
		v.write(slices.Clone(sum[from:from+n]), o.Stmt)
		stored[v.cells] = from + n
	}
}
