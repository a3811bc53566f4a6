package place

import (
	"slices"

	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// Prices estimates how long work takes on an idle machine, in microseconds.
type Prices interface {
	// CollectiveAlone returns the time of a collective. in and out are the bytes of its operand and of its result on each rank.
	CollectiveAlone(form collective.Form, in, out int64, ranks int) float64
	// KernelAlone returns the time of a kernel that reads and writes this number of bytes in total.
	KernelAlone(bytes int64) float64
	// GEMMAlone returns the time of a batch of GEMMs.
	GEMMAlone(p cost.GEMMSize) float64
}

// pricing prices placements on a mesh.
type pricing struct {
	Prices
	part
	fns map[*hostir.Tensor]string           // the function that reduces a tensor if it is partial
	not func(t *hostir.Tensor, s step) bool // reports forbidden steps; nil: all are allowed
	traffic
}

// bytes returns the size of a rank's part of a tensor, in bytes.
func (p *pricing) bytes(t *hostir.Tensor, at Placements) int64 {
	size := t.DType.Size()
	for _, a := range t.Axes {
		size *= a.Size
	}
	for i, axis := range p.mesh.Axes {
		if at.of(i).splits() {
			size /= axis.Size
		}
	}
	return size
}

// step returns the time of one step from a placement.
func (p *pricing) step(t *hostir.Tensor, from Placements, s step) float64 {
	to, ranks := from.with(s.mesh, s.to), p.mesh.Axes[s.mesh].Size
	in, out := p.bytes(t, from), p.bytes(t, to)
	kind := s.kind()
	if kind == "" {
		return p.KernelAlone(2 * out)
	}
	return p.CollectiveAlone(kind.Row().Form, in, out, int(ranks))
}

// change returns the time of all steps from one placement to another, or -1 if they are impossible or forbidden.
func (p *pricing) change(t *hostir.Tensor, from, to Placements) (us float64) {
	list, possible := steps(from, to)
	if !possible {
		return -1
	}
	for _, s := range list {
		if s.to.splits() && !divides(t, int(s.to), p.mesh.Axes[s.mesh].Size) || p.not != nil && p.not(t, s) {
			return -1
		}
		us += p.step(t, from, s)
		from = from.with(s.mesh, s.to)
	}
	return exact(us)
}

// local returns the time of a statement on one rank. Views take no time.
func (p *pricing) local(s hostir.Stmt, in, out []Placements) float64 {
	uses, defs := hostir.Uses(s), hostir.Defs(s)
	switch s.(type) {
	case *hostir.Reshape, *hostir.Permute, *hostir.Broadcast, *hostir.Slice:
		return 0 // views
	case *hostir.Matmul, *hostir.Linear, *hostir.BlockLinear:
		second, columns := hostir.SecondOperand(s)
		size := func(t *hostir.Tensor, at Placements) int64 { return p.bytes(t, at) / t.DType.Size() }
		k := int64(1)
		if axes := uses[0].Axes; len(axes) > 0 {
			k = axes[len(axes)-1].Size
		}
		n := second.Axes[len(second.Axes)-columns].Size
		for i, axis := range p.mesh.Axes {
			if int(in[0].of(i)) == len(uses[0].Axes)-1 {
				k /= axis.Size
			}
			if int(in[1].of(i)) == len(second.Axes)-columns {
				n /= axis.Size
			}
		}
		batch := max(size(second, in[1])/(n*k), 1)
		return p.GEMMAlone(cost.GEMMSize{
			DType: uses[0].DType, Result: defs[0].DType, Batch: batch, M: max(size(defs[0], out[0])/(n*batch), 1), N: n, K: k,
		})
	case *hostir.Attention:
		return p.attention(uses, in)
	case *hostir.Gather:
		return p.KernelAlone(2*p.bytes(defs[0], out[0]) + p.bytes(uses[1], in[1]))
	case *hostir.Reduce:
		if p.bytes(uses[0], in[0])/uses[0].DType.Size() == p.bytes(defs[0], out[0])/defs[0].DType.Size() {
			return 0 // the reduced axis has one element on each rank
		}
	}
	bytes := int64(0)
	for k, t := range uses {
		if !onElements(s) || p.reads[s][t] && !slices.Contains(uses[:k], t) {
			bytes += p.bytes(t, in[k])
		}
	}
	for k, t := range defs {
		if !onElements(s) || p.writes[t] {
			bytes += p.bytes(t, out[k])
		}
	}
	if bytes == 0 {
		return 0
	}
	return p.KernelAlone(bytes)
}

// attention prices an attention as two GEMMs of the same size.
func (p *pricing) attention(uses []*hostir.Tensor, in []Placements) float64 {
	axes := uses[1].Axes
	rows, size := axes[len(axes)-2].Size, axes[len(axes)-1].Size
	elements := p.bytes(uses[0], in[0]) / uses[0].DType.Size()
	t := uses[0].DType
	return 2 * p.GEMMAlone(cost.GEMMSize{DType: t, Result: t, Batch: 1, M: max(elements/size, 1), N: rows, K: size})
}
