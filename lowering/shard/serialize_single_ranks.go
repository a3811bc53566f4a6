package shard

import (
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// SerializeSingleRanks removes splits over mesh axes of one rank, and makes communication along them local. A reduction of
// one part is that part: the GEMM that makes the part writes the result, if its axes allow that. Otherwise a Reshape makes
// the result, if it has the same type. In a world of one rank a Stream axis of one slice becomes Serial, since there is no
// pipeline.
//
// Establishes: no tensor is split over a mesh axis of one rank.
//
//	before: P = Matmul(A, B); C = Reduce(sum, P, axis 0)     P [DIDx(1), Stream(1), M, N], C [r(1), Stream(1), M, N]
//	after:  C = Matmul(A, B)                                 C [r(1), 1, M, N]
func SerializeSingleRanks(p *hostir.Program) error {
	s := &serialization{serializeAxes(p), hostir.Readers(p.Body), hostir.Makers(p.Body), map[*hostir.Tensor]bool{}}
	if len(s.changed) == 0 {
		return nil
	}
	body := make([]hostir.Stmt, 0, len(p.Body))
	for _, stmt := range p.Body {
		if stmt = s.local(stmt); stmt != nil {
			body = append(body, stmt)
		}
	}
	p.Body = body
	p.Remove(s.gone)
	return nil
}

// serializeAxes turns Device axes of one rank into Broadcast axes and, in a world of one rank, Stream axes of one slice into
// Serial axes. It returns the tensors that had any.
func serializeAxes(p *hostir.Program) map[*hostir.Tensor]bool {
	changed := map[*hostir.Tensor]bool{}
	alone := p.Meshes[0].Size() == 1
	for _, t := range p.Tensors {
		for i, a := range t.Axes {
			switch {
			case a.Kind == domain.Device && a.Size == 1:
				t.Axes[i].Place(domain.Broadcast, "")
				changed[t] = true
			case a.Kind == domain.Stream && alone && a.Size == 1:
				t.Axes[i].Kind = domain.Serial
				changed[t] = true
			}
		}
	}
	return changed
}

// serialization makes statements local.
type serialization struct {
	changed map[*hostir.Tensor]bool // tensors whose axes serializeAxes changed
	readers map[*hostir.Tensor][]hostir.Stmt
	makers  map[*hostir.Tensor]hostir.Stmt // by result
	gone    map[*hostir.Tensor]bool        // tensors that the result of a Reduce replaces
}

// local returns the local statement that replaces a communication along an axis of one rank, or nil if it has made the GEMM
// before the communication write the result. It returns other statements unchanged.
func (s *serialization) local(stmt hostir.Stmt) hostir.Stmt {
	switch stmt := stmt.(type) {
	case *hostir.Reduce:
		switch {
		case !s.changed[stmt.In] || stmt.In.Axes[stmt.Axis].Size != 1 || !SameMesh(stmt.In, stmt.Out):
		case s.sumsAlone(stmt):
			hostir.ReplaceDef(s.makers[stmt.In], stmt.In, stmt.Out)
			s.makers[stmt.Out], s.gone[stmt.In] = s.makers[stmt.In], true
			return nil
		case stmt.In.DType == stmt.Out.DType:
			return &hostir.Reshape{Info: stmt.Info, Out: stmt.Out, In: stmt.In}
		}
	case *hostir.Set:
		if (s.changed[stmt.In] || s.changed[stmt.Out]) && SameMesh(stmt.In, stmt.Out) && len(Describe(stmt).Shifts) == 0 {
			return &hostir.Reshape{Info: stmt.Info, Out: stmt.Out, In: stmt.In}
		}
	}
	return stmt
}

// sumsAlone reports whether a GEMM makes the only part of a sum and can write the sum directly. The axis of the sum must be
// the outermost of at least three axes, the part must have no other use, and a bias must have the sum's type.
func (s *serialization) sumsAlone(r *hostir.Reduce) bool {
	gemm, axes := s.makers[r.In], hostir.Live(r.In)
	if linear, ok := gemm.(*hostir.Linear); ok && linear.Bias != nil && linear.Bias.DType != r.Out.DType {
		return false
	}
	return gemm != nil && hostir.IsGEMM(gemm) && len(s.readers[r.In]) == 1 && r.In.Role == hostir.Temp &&
		r.Axis == axes[0] && len(axes) > 2
}
