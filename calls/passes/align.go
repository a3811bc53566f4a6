package passes

import (
	"fmt"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/align"
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/model/domain"
)

// declareAlignment declares the alignment of operands of GEMMs and attentions that are, on some rank in some iteration,
// less aligned than their rows.
//
//	Shape(name kCShape, n 8)                     Shape(name kCShape, n 8, align_b 2)
//	Gemm(shape kCShape, b V + 1)             ->  Gemm(shape kCShape, b V + 1)
func declareAlignment(p *calls.Program) {
	table := effects.New(p)
	align.Visit(p, func(s calls.Stmt, at *align.Scope) {
		operands, _ := table.Of(s)
		for _, o := range operands {
			if bytes := at.Of(o.At); bytes < o.Align && o.Declared != nil {
				*o.Declared = bytes
			}
		}
	})
}

// copyUnaligned copies the bias of a GEMM into scratch memory if the bias has a smaller alignment than cuBLASLt's
// widest access. Each GEMM has its own scratch memory, and copies on its own stream. If the GEMM runs on compute
// streams, the scratch memory has one part for each of them.
//
//	Gemm(shape kYShape, bias P + 65)             Memcpy(out Y_bias_, in P + 65, elements 8)
//	                                         ->  Gemm(shape kYShape, bias Y_bias_)
func copyUnaligned(p *calls.Program) {
	table, shapes, unaligned := effects.New(p), calls.ByName(p.Shapes), map[*calls.Gemm]bool{}
	align.Visit(p, func(s calls.Stmt, at *align.Scope) {
		operands, _ := table.Of(s)
		for _, o := range operands {
			if gemm, ok := s.(*calls.Gemm); ok && o.Declared == nil && at.Of(o.At) < o.Align {
				unaligned[gemm] = true
			}
		}
	})
	p.Body = calls.Edit(p.Body, func(s calls.Stmt) []calls.Stmt {
		gemm, ok := s.(*calls.Gemm)
		if !ok || !unaligned[gemm] {
			return []calls.Stmt{s}
		}
		d := shapes[gemm.Shape]
		info, t := gemm.Info, d.Result()
		info.Note = "a copy, since cuBLASLt may read 16 bytes of a bias at a time"
		to := scratch(p, strings.TrimSuffix(d.Plan, "plan_")+"bias", t, d.N, gemm)
		from := *gemm.Bias
		gemm.Bias = &to
		return []calls.Stmt{&calls.Memcpy{Info: info, Out: to, In: from, Elements: d.N, Type: t, On: gemm.On}, gemm}
	})
}

// scratch declares a buffer of count elements for a statement. For a statement with the workspace of a compute stream,
// the buffer has a part for each compute stream, aligned to align.Widest. scratch returns a pointer to the part of the
// statement's stream.
func scratch(p *calls.Program, name string, t domain.DType, count expr.Expr, s calls.Stmt) calls.Pointer {
	taken, where := namesOf(p), calls.ByName(p.Labels)[s.Meta().Label]
	b := &calls.Buffer{Name: name + "_", Type: t, Elements: count, Shape: []expr.Expr{count}}
	for i := 2; taken[b.Name]; i++ {
		b.Name = fmt.Sprintf("%s_%d_", name, i)
	}
	if where != nil {
		b.Where = where.Text + ", aligned"
	}
	p.Buffers = append(p.Buffers, b)
	stream, _ := calls.WorkspaceOf(s)
	if stream == nil {
		return calls.Pointer{Base: b.Name}
	}
	if n, _ := p.Values().Eval(count); n*t.Size()%align.Widest != 0 {
		count = expr.Int((n*t.Size() + align.Widest - 1) / align.Widest * align.Widest / t.Size())
	}
	streams := expr.Var(calls.StreamCount)
	b.Elements, b.Shape = expr.Op("*", streams, count), []expr.Expr{streams, count}
	return calls.Pointer{Base: b.Name, Offset: expr.Op("*", stream, count)}
}
