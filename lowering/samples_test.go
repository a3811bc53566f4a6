package lowering

import (
	"fmt"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

// sample builds a pipeline in Go, so that its tests do not depend on the loader.
type sample struct {
	p    *model.Pipeline
	mesh *domain.Mesh
	line int
}

func newSample(name string, d int64) *sample {
	m := &domain.Mesh{Name: "world", Axes: []domain.MeshAxis{{Name: "x", Extent: domain.Extent{Text: "D", Size: d}}}}
	for r := range int(d) {
		m.Ranks = append(m.Ranks, r)
	}
	p := &model.Pipeline{Name: name, File: "spec.yaml", Meshes: []*domain.Mesh{m}}
	p.Params = []model.Param{{Name: "D", Value: d}}
	return &sample{p: p, mesh: m, line: 4}
}

// param declares a parameter.
func (s *sample) param(name string, value int64) {
	s.p.Params = append(s.p.Params, model.Param{Name: name, Value: value})
}

// ax returns an axis, for example ax(domain.Stream, "S", 4). A Device axis is split over mesh axis x.
func ax(kind domain.Kind, text string, size int64) domain.Axis {
	a := domain.Axis{Kind: kind, Extent: domain.Extent{Text: text, Size: size}}
	if kind == domain.Device {
		a.Mesh = "x"
	}
	return a
}

func (s *sample) pos() diag.Pos {
	s.line++
	return diag.Pos{File: "spec.yaml", Line: s.line, Col: 5}
}

// tensor declares an annotated bf16 tensor. It is an input unless it is the result of an operation.
func (s *sample) tensor(name string, axes ...domain.Axis) *model.Tensor {
	t := &model.Tensor{Name: name, DType: domain.BF16, Axes: axes, Mesh: s.mesh, Annotated: true, Pos: s.pos()}
	s.p.Tensors = append(s.p.Tensors, t)
	return t
}

// op adds an operation.
func (s *sample) op(op model.Op) {
	op.Pos = s.pos()
	op.Out.Producer = &op
	s.p.Ops = append(s.p.Ops, &op)
}

// done sets the inputs and outputs of the pipeline, and returns the pipeline.
func (s *sample) done() *model.Pipeline {
	consumed := map[*model.Tensor]bool{}
	for _, op := range s.p.Ops {
		for _, t := range op.In {
			consumed[t] = true
		}
	}
	for _, t := range s.p.Tensors {
		switch {
		case t.Producer == nil:
			s.p.Inputs = append(s.p.Inputs, t)
		case !consumed[t]:
			s.p.Outputs = append(s.p.Outputs, t)
		}
	}
	return s.p
}

// gemm is the size of an AG+matmul: m rows in s slices over d ranks, n columns, and k terms in each sum.
type gemm struct{ d, s, m, n, k int64 }

// small returns a size with two rows in each slice of each rank.
func small(d, s int64) gemm { return gemm{d: d, s: s, m: 2 * d * s, n: 3, k: 5} }

func (g gemm) declare(s *sample) (a *model.Tensor) {
	for _, param := range []model.Param{{Name: "S", Value: g.s}, {Name: "M", Value: g.m}, {Name: "N", Value: g.n}, {Name: "K", Value: g.k}} {
		s.param(param.Name, param.Value)
	}
	return s.tensor("A", ax(domain.Serial, "S", g.s), ax(domain.Device, "D", g.d),
		ax(domain.Serial, "M/(S*D)", g.m/(g.s*g.d)), ax(domain.Serial, "K", g.k))
}

func (g gemm) result(s *sample) *model.Tensor {
	return s.tensor("C", ax(domain.Stream, "S", g.s), ax(domain.Serial, "D", g.d),
		ax(domain.Serial, "M/(S*D)", g.m/(g.s*g.d)), ax(domain.Serial, "N", g.n))
}

// agMatmul returns the pipeline C = allgather(A) x B.
func agMatmul(g gemm) *model.Pipeline {
	s := newSample("ag_matmul", g.d)
	a := g.declare(s)
	b := s.tensor("B", ax(domain.Serial, "K", g.k), ax(domain.Serial, "N", g.n))
	s.op(model.Op{Kind: model.OpMatmul, In: []*model.Tensor{a, b}, Out: g.result(s)})
	return s.done()
}

// agLinear returns the pipeline C = allgather(A) x W^T + bias.
func agLinear(g gemm) *model.Pipeline {
	s := newSample("ag_linear", g.d)
	a := g.declare(s)
	w := s.tensor("W", ax(domain.Serial, "N", g.n), ax(domain.Serial, "K", g.k))
	bias := s.tensor("bias", ax(domain.Serial, "N", g.n))
	s.op(model.Op{Kind: model.OpLinear, In: []*model.Tensor{a, w, bias}, Out: g.result(s)})
	return s.done()
}

// variant sets four schedule fields of a pipeline, and returns the pipeline.
func variant(p *model.Pipeline, streams int, waits, joins, reshard string) *model.Pipeline {
	choose(&p.Schedule, fmt.Sprint("streams ", streams), "initial_waits "+waits, "joins "+joins, "reshard "+reshard)
	return p
}
