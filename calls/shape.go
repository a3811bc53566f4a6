package calls

import (
	"cmp"
	"reflect"

	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/packing"
	"github.com/hirgen/hirgen/model/domain"
)

// Result returns the element type of a GEMM's result, addend and bias.
func (d *Shape) Result() domain.DType { return cmp.Or(d.TypeC, d.Type) }

// Alike reports whether two GEMMs are equal except for Name, Like, Plan and Label.
func (d *Shape) Alike(other *Shape) bool {
	bare := *d
	bare.Name, bare.Like, bare.Plan, bare.Label = other.Name, other.Like, other.Plan, other.Label
	return reflect.DeepEqual(&bare, other)
}

// Alike reports whether two kernels are equal except for Name, Where and Row.
func (k *Kernel) Alike(other *Kernel) bool {
	bare := *k
	bare.Name, bare.Where, bare.Row = other.Name, other.Where, other.Row
	return reflect.DeepEqual(&bare, other)
}

// Packs reports which matrices of a GEMM are copied in each call: A and B to aligned rows before the GEMM, C from
// aligned rows after it.
func (d *Shape) Packs() packing.Packs { return packing.Packs{A: d.PackA, B: d.PackB, C: d.PackC} }

// Fits reports whether a GEMM has the operands that the shape needs, and no others, since the plan of the shape ignores
// those. It also reports whether a shape with scales is one that MatmulShape of hirgen/matmul.hpp allows.
func (d *Shape) Fits(g *Gemm, values Values) bool {
	scaled := d.Scales || d.RowScales
	if (g.Bias != nil) != d.Bias || (g.Addend != nil) != d.Addend || (g.ScalesA != nil) != scaled || (g.ScalesB != nil) != scaled {
		return false
	}
	one, result := d.Batch == nil || d.Batch == expr.Int(1), d.Result()
	blocks := func(e expr.Expr) bool {
		n, ok := values.Eval(e)
		return !d.Scales || ok && n%domain.BlockRow == 0
	}
	return !scaled || d.Scales != d.RowScales && one && !d.Bias && !d.Addend && d.Then == "" && d.Type.Size() == 1 &&
		(result == domain.BF16 || result == domain.FP32) && blocks(d.N) && blocks(d.K)
}

// Copies reports whether the calls of a GEMM copy anything to or from their workspace: matrices with unaligned rows
// (Packs), or scales. Scales of rows are copied if they are not aligned, and applied by a kernel if cuBLASLt cannot.
func (d *Shape) Copies() bool { return d.Packs().Any() || d.Scales || d.RowScales }

// Problem describes a GEMM to package packing. It does not set the alignment of the operands.
func (d *Shape) Problem(values Values) packing.GEMM {
	number := func(e expr.Expr, otherwise int64) int64 {
		if e == nil {
			return otherwise
		}
		n, _ := values.Eval(e)
		return n
	}
	return packing.GEMM{
		M: number(d.M, 1), N: number(d.N, 1), K: number(d.K, 1), Batch: number(d.Batch, 1),
		SharedA: number(d.StrideA, 0) == 0, SharedB: number(d.StrideB, 0) == 0,
		Element: d.Type.Size(), Result: d.Result().Size(), AddsResult: d.Addend, RowScales: d.RowScales,
	}
}

// AttentionShape returns the extents of an attention, and its Start on a rank.
func (p *Program) AttentionShape(d *Attention, rank int64) domain.AttentionShape {
	shape, values := domain.AttentionShape{Blocks: 1, Deterministic: d.Deterministic}, p.Values()
	for to, from := range map[*int64]expr.Expr{
		&shape.Batch: d.Batch, &shape.QueryHeads: d.QueryHeads, &shape.KeyHeads: d.KeyHeads, &shape.QueryRows: d.QueryRows,
		&shape.KeyRows: d.KeyRows, &shape.Size: d.Size, &shape.Start: d.Start,
	} {
		if from != nil {
			*to, _ = values.Eval(from)
		}
	}
	shape.Share = shape.QueryHeads / max(shape.KeyHeads, 1)
	if d.Mesh != "" {
		at, _ := p.Coordinate(p.MeshNamed(d.Mesh), d.Axis, rank)
		shape.Start += at * shape.QueryRows
	}
	return shape
}
