package fusion

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// folds reports whether the result of a statement that ends a group has one element per row. That is so if the
// statement reduces rows. It is also so if the statement is elementwise and not in flat, and an operand is such a result
// of a statement that may be in its kernel. An example is the division of a mean.
func (f *fuser) folds(s hostir.Stmt) bool {
	if is, known := f.ofFolds[s]; known {
		return is
	}
	is := false
	switch s.(type) {
	case *hostir.Reduce:
		is = true
	case *hostir.Unary, *hostir.Binary, *hostir.Cast:
		is = !f.flat[s] && slices.ContainsFunc(hostir.Uses(s), func(t *hostir.Tensor) bool {
			made := f.maker[t]
			return made != nil && rowWise(made) && !f.apart[made] && f.folds(made)
		})
	}
	f.ofFolds[s] = is
	return is
}

// writtenCasts returns the positions of the casts that the spec has.
func writtenCasts(p *hostir.Program) map[diag.Pos]bool {
	written := map[diag.Pos]bool{}
	for _, ref := range p.Reference {
		if ref.Kind == "cast" && (ref.Whole == "" || strings.Contains(ref.Whole, " = cast(")) {
			written[ref.Pos] = true
		}
	}
	return written
}

// rounds reports whether a statement is a cast of the spec to a narrower type or between bf16 and fp16, or a cast to integers or fp8,
// which limits large numbers. Composites end with a cast to a narrower type, too, but the spec does not ask for its rounding.
func (f *fuser) rounds(s hostir.Stmt) bool {
	cast, casts := s.(*hostir.Cast)
	if !casts {
		return false
	}
	from, to := cast.In.DType, cast.Out.DType
	narrows := to != domain.FP32 && to.Size() <= from.Size() && to != from
	return to.IsInteger() || to.Saturates() || narrows && f.written[s.Meta().Pos]
}

// roundsFirst reports whether a kernel rounds its main result where it stores it: to integers, to fp8, or by a cast of the spec. Steps that
// compute with the value before the store need a cast.
func roundsFirst(k *hostir.Fused, written map[diag.Pos]bool) bool {
	to := k.Out[0].DType
	return to.IsInteger() || to.Saturates() || to != domain.FP32 && written[k.Pos]
}

// toInteger reports whether a statement casts to integers.
func toInteger(s hostir.Stmt) bool {
	cast, casts := s.(*hostir.Cast)
	return casts && cast.Out.DType.IsInteger()
}

// stores reports whether a kernel may store the result of a statement as another result. A kernel may not store the
// result of a Broadcast, of a Concat, of a cast without a step, or of a cast of integers, whose values fp32 may not
// represent.
func (f *fuser) stores(s hostir.Stmt) bool {
	return hostir.Is[*hostir.Reduce](s) || elementwise(s) || f.rounds(s) && !hostir.Uses(s)[0].DType.IsInteger()
}

// mayAlsoMake reports whether the kernel of a group may store the result of a statement as another result. The kernel
// has to compute it once for each element of its main result or, if folded is set, once for each row.
func (f *fuser) mayAlsoMake(g *kernelGroup, s hostir.Stmt, folded bool) bool {
	out, result := hostir.Result(s), hostir.Result(g.result())
	if out.Mesh != result.Mesh || out.Role == hostir.View || !f.stores(s) || g.folded[result] && !folded {
		return false
	}
	if g.folded[result] {
		return hostir.SameAxes(out, result)
	}
	if folded {
		return !hostir.Is[*hostir.Concat](g.result()) && hostir.SameAxes(out, hostir.WithoutColumns(result))
	}
	return hostir.SameAxes(out, result)
}
