package order

import (
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/model/domain"
)

// operand is memory that a statement may access: a number of bytes after a pointer.
type operand struct {
	at    calls.Pointer
	bytes int64 // -1: any bytes of the buffer
	alike bool  // accessed element by element; true only for the first result, which is written last, and for operands that are read like this
}

// operandsOf lists the memory that a statement accesses, its result first.
func (u *Uses) operandsOf(s calls.Stmt, env calls.Values) []operand {
	switch s := s.(type) {
	case *calls.Memcpy:
		n := spanOf(env, s.Type, s.Elements)
		return []operand{{s.Out, n, false}, {s.In, n, false}}
	case *calls.Gemm:
		return ofGemm(u.shapes[s.Shape], s, env)
	case *calls.Launch:
		return ofLaunch(u.kernels[s.Kernel], s, env)
	}
	var list []operand
	calls.RewriteAll([]calls.Stmt{s}, &calls.Rewriter{Place: func(at calls.Pointer) calls.Pointer {
		list = append(list, operand{at, -1, false})
		return at
	}})
	return list
}

// owned lists the buffers of this rank that a statement lets peers access, or for whose accesses by peers it waits.
func owned(p *calls.Program, s calls.Stmt) []string {
	var names []string
	add := func(share string) {
		for _, d := range p.Shares {
			if d.Name == share {
				names = append(names, d.Memory)
			}
		}
	}
	calls.Walk([]calls.Stmt{s}, func(s calls.Stmt) bool {
		switch s := s.(type) {
		case *calls.FlagWrite:
			if !s.Flag.Done {
				add(s.Flag.Share)
			}
		case *calls.FlagWait:
			if s.Flag.Done {
				add(s.Flag.Share)
			}
		}
		return true
	})
	return names
}

// spanOf returns the bytes of a product of extents; -1 if one has no value.
func spanOf(env calls.Values, t domain.DType, extents ...expr.Expr) int64 {
	bytes := t.Size()
	for _, e := range extents {
		n, ok := env.Eval(e)
		if !ok {
			return -1
		}
		bytes *= n
	}
	return bytes
}

// ofGemm lists the operands of a GEMM. cuBLASLt accepts an addend at the address of the result.
func ofGemm(d *calls.Shape, s *calls.Gemm, env calls.Values) []operand {
	one := d != nil && d.RowB == nil && (d.Batch == nil || d.Batch == expr.Int(1))
	list := []operand{{s.Out, -1, one && !d.Fp32Result}, {s.A, -1, false}, {s.B, -1, false}}
	if one {
		result := d.Type
		if d.Fp32Result {
			result = domain.FP32
		}
		list[0].bytes = spanOf(env, result, d.M, d.N)
		list[1].bytes, list[2].bytes = spanOf(env, d.Type, d.M, d.K), spanOf(env, d.Type, d.K, d.N)
	}
	if s.Addend != nil {
		list = append(list, operand{*s.Addend, list[0].bytes, list[0].alike})
	}
	if s.Bias != nil {
		list = append(list, operand{*s.Bias, -1, false})
	}
	return list
}

// ofLaunch lists the operands of a kernel. A kernel with dense operands reads one element of each before it writes that element
// of its first result, which it stores last. It stores other results before it has read all operands.
func ofLaunch(k *calls.Kernel, s *calls.Launch, env calls.Values) []operand {
	types, elementwise := make([]domain.DType, 1+len(s.In)), s.Elements != nil
	uses, columns, results := make([]string, len(types)), int64(1), int64(1)
	for i := range types {
		types[i], uses[i] = s.InType, calls.ForElement
	}
	types[0] = s.OutType
	if s.Own() && k != nil {
		elementwise, results = elementwise && k.Columns == 0 && !k.Views, k.Results
		columns = max(columns, k.Columns)
		for i := range types {
			types[i], uses[i] = domain.DType(k.Types[i]), k.Uses[i]
		}
	}
	list := make([]operand, len(types))
	for i, o := range append([]calls.Operand{s.Out}, s.In...) {
		list[i] = operand{at: o.At, bytes: -1}
		if o.At.Base == "" || uses[i] != calls.ForElement {
			continue
		}
		if s.Elements != nil {
			list[i].bytes = spanOf(env, types[i], s.Elements, expr.Int(columns))
			list[i].alike = elementwise && types[i] == types[0] && (i == 0 || int64(i) >= results)
		} else {
			list[i].bytes = reach(env, types[i], append(append([]expr.Expr{}, s.Out.Extents...), expr.Int(columns)), o)
		}
	}
	return list
}

// reach returns the bytes from the first to the end of the last element of a strided operand; -1 if unknown. The operand has its
// own extents or, in a kernel of the program, the extents of the result and the columns.
func reach(env calls.Values, t domain.DType, extents []expr.Expr, o calls.Operand) int64 {
	if len(o.Extents) == len(o.Strides) {
		extents = o.Extents
	}
	if len(extents) != len(o.Strides) {
		return -1
	}
	elements := int64(1)
	for i, e := range extents {
		n, known := env.Eval(e)
		stride, ok := env.Eval(o.Strides[i])
		if !known || !ok || stride < 0 {
			return -1
		}
		elements += (n - 1) * stride
	}
	return elements * t.Size()
}
