package soak

import (
	"math"
	"slices"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/eval"
	"github.com/hirgen/hirgen/model/schedule"
)

// A specKind is a kind of specs that a search must meet often. A new kind is one more row of specKinds.
type specKind struct {
	name  string
	share float64                                     // share of the specs with a kind, relative to other kinds
	begin func(*generator)                            // makes the first operations of a spec; others follow
	holds func(*model.Pipeline, *hostir.Program) bool // recognizes an accepted spec of this kind, however it was made
}

// specKinds is the table that MakeUp draws from and that the report counts by.
var specKinds = []specKind{
	{"a view at an odd offset is read", 0.1, (*generator).oddView, readsOddView},
	{"extents over 8 that are no multiple of 8", 0.1, (*generator).unevenExtents, hasUnevenExtents},
	{"a max or min, and a sum over ranks", 0.1, (*generator).maxOfRankSums, hasMaxAndRankSum},
	{"several readers of a sum of few parts", 0.06, (*generator).sharedSum, hasSharedSum},
	{"a kernel also stores a result with a reduced axis", 0.06, (*generator).sharedListedSum, storesReducedAxis},
	{"a kernel sums rows of what it computes", 0.09, (*generator).sumOfRows, sumsRows},
	{"attention: heads over ranks", 0.05, (*generator).headsOverRanks, attends(domain.SplitHeads)},
	{"attention: rows over ranks", 0.03, (*generator).rowsOverRanks, attends(domain.SplitRows)},
	{"a sum scatters a Stream axis, and its result has another", 0.03, (*generator).scatteredSlices, scattersToSlices},
	{"operations in a pipeline of sub-chunks", 0.04, (*generator).subChunks, runsInSubChunks},
	{"several moves between ranks in a loop, with a lead", 0.03, (*generator).twoMoves, leadsInLoops},
	{"a kernel exchanges rows", 0.04, (*generator).exchangedRows, exchangesRows},
	{"a sum over ranks has two axes of rows", 0.04, (*generator).summedBatches, mergesRows},
	{"collectives are one group", 0.03, (*generator).collectives, groupsCollectives},
	{"a gather of rows that are split over ranks", 0.02, (*generator).splitTable, gathersParts},
	{"a GEMM multiplies numbers of 8 bits", 0.04, (*generator).shortProduct, multipliesShort},
	{"a kernel rounds a value and goes on", 0.05, (*generator).roundings, roundsInKernels},
	{"a kernel folds blocks of its rows", 0.03, (*generator).blocksOfRows, foldsBlocks},
	{"a reshape between elementwise operations", 0.04, (*generator).reshapedKernels, reshapesBetweenKernels},
	{"an output has elements that are NaN", 0.11, (*generator).notNumbers, outputs(math.IsNaN)},
	{"an output has infinite elements", 0.13, (*generator).infinities, outputs(func(v float64) bool { return math.IsInf(v, 0) })},
}

// plain is the share of the specs that MakeUp makes without a kind.
const plain = 0.3

// kind draws the kind of a spec, by the shares in the table. It returns a kind without begin for a plain spec.
func (g *generator) kind() specKind {
	if g.chance(plain) {
		return specKind{}
	}
	total := 0.0
	for _, k := range specKinds {
		total += k.share
	}
	at := total * g.Float64()
	for _, k := range specKinds {
		if at -= k.share; at < 0 {
			return k
		}
	}
	return specKinds[0]
}

// notNumbers begins with operations that make NaN, such as a root or a logarithm of numbers of both signs.
func (g *generator) notNumbers() { g.special("neg", "sqrt", "log", "rsqrt") }

// infinities begins with operations that make infinities: an overflow, or the logarithm or the reciprocal of 0.
func (g *generator) infinities() {
	if g.chance(0.5) {
		g.special("scale", "exp")
	} else {
		g.special("relu", "log", "rsqrt", "reciprocal")
	}
}

// special applies to an input the function that first names, and then one of functions, so that elements become infinite
// or NaN, and reads the result. Most often it instead takes the logarithm or the inverse root of rounded numbers, which
// makes infinite elements and NaN at once.
func (g *generator) special(first string, functions ...string) {
	if g.chance(0.7) {
		first, functions = "round", []string{"log", "rsqrt"}
	}
	v := g.input(nil)
	op := on(first, v)
	if first == "scale" {
		op = op.with(word("by", "-64"))
	}
	made := g.result(on(pick(g, functions...), g.result(op, v.axes, v)), v.axes, v)
	g.focused(made, 1+g.IntN(2), specialReaders...)
}

// specialReaders read elements that are not finite.
var specialReaders = []func(*generator) bool{(*generator).set, (*generator).binary, (*generator).reduce, (*generator).reshape,
	(*generator).permute, (*generator).cast, (*generator).concat}

// outputs returns a function that reports whether, for random inputs, an output has an element that the function such accepts.
func outputs(such func(float64) bool) func(*model.Pipeline, *hostir.Program) bool {
	return func(p *model.Pipeline, _ *hostir.Program) bool {
		values, err := eval.Run(p, eval.Fill(p, 1))
		return err == nil && slices.ContainsFunc(p.Outputs, func(t *model.Tensor) bool {
			return slices.ContainsFunc(values[t.Name].Data, such)
		})
	}
}

// readsOddView reports whether an operation reads a slice, or writes an operand of a concat, that begins at an odd
// element of the underlying tensor. Reshapes and permutes do not count.
func readsOddView(p *model.Pipeline, _ *hostir.Program) bool {
	odd := map[*model.Tensor]bool{}
	for _, op := range p.Ops {
		switch op.Kind {
		case model.OpReshape, model.OpPermute:
			odd[op.Out] = odd[op.In[0]]
			continue
		case model.OpSlice:
			odd[op.Out] = isOdd(op.In[0], op.Axis, op.Start.Size)
		case model.OpConcat:
			start := int64(0)
			for _, in := range op.In {
				if in.Producer != nil && isOdd(op.Out, op.Axis, start) {
					return true
				}
				start += in.Axes[op.Axis].Size
			}
		}
		if lists.AnyIn(op.In, odd) {
			return true
		}
	}
	return false
}

// reshapesBetweenKernels reports whether an elementwise operation reads a reshape of the result of another elementwise operation,
// and nothing but the reshape reads that result.
func reshapesBetweenKernels(p *model.Pipeline, _ *hostir.Program) bool {
	readers, elementwise := map[*model.Tensor]int{}, map[*model.Tensor]bool{}
	for _, op := range p.Ops {
		for _, t := range op.In {
			readers[t]++
		}
	}
	reshaped := map[*model.Tensor]bool{}
	for _, op := range p.Ops {
		switch op.Kind {
		case model.OpUnary, model.OpBinary:
			elementwise[op.Out] = true
			if lists.AnyIn(op.In, reshaped) {
				return true
			}
		case model.OpReshape:
			reshaped[op.Out] = (elementwise[op.In[0]] || reshaped[op.In[0]]) && readers[op.In[0]] == 1
		}
	}
	return false
}

// isOdd reports whether the element at an index of an axis has an odd offset in a rank's memory.
func isOdd(t *model.Tensor, axis int, index int64) bool {
	axes := domain.WithoutReductions(t.Axes)
	for _, a := range axes[min(axis+1, len(axes)):] {
		index *= a.LocalSize()
	}
	return index%2 != 0
}

// multipliesShort reports whether a GEMM has operands of 8 bits.
func multipliesShort(_ *model.Pipeline, p *hostir.Program) bool {
	return anyStmt(p, func(s hostir.Stmt) bool { return hostir.IsGEMM(s) && hostir.Uses(s)[0].DType.Saturates() })
}

// hasUnevenExtents reports whether an operand of a matmul, an attention, a kernel or a reduction has an inner axis with an
// extent above 8 that is no multiple of 8. Of matmuls and attentions, the last two axes are inner, otherwise the last.
func hasUnevenExtents(_ *model.Pipeline, p *hostir.Program) bool {
	return anyStmt(p, func(s hostir.Stmt) bool {
		inner := 1
		switch s.(type) {
		case *hostir.Matmul, *hostir.Linear, *hostir.Attention:
			inner = 2
		case *hostir.Fused, *hostir.Unary, *hostir.Binary, *hostir.Reduce:
		default:
			return false
		}
		return slices.ContainsFunc(hostir.Uses(s), func(t *hostir.Tensor) bool {
			shape := hostir.LocalShape(t)
			return slices.ContainsFunc(shape[max(0, len(shape)-inner):], func(n int64) bool { return n > 8 && n%8 != 0 })
		})
	})
}

// hasMaxAndRankSum reports whether a program takes a maximum or a minimum, and a sum over ranks by one collective or by a
// peer-read reduction.
func hasMaxAndRankSum(m *model.Pipeline, p *hostir.Program) bool {
	return slices.ContainsFunc(m.Ops, func(op *model.Op) bool { return op.Fn == "max" || op.Fn == "min" }) &&
		anyStmt(p, func(s hostir.Stmt) bool {
			c, ok := s.(*hostir.Communication)
			return hostir.Is[*hostir.PeerReadSum](s) || ok && c.ReduceFn == "sum"
		})
}

// hasSharedSum reports whether a local sum of 2 to 4 parts is an operand more than once.
func hasSharedSum(m *model.Pipeline, _ *hostir.Program) bool {
	readers := map[*model.Tensor]int{}
	for _, op := range m.Ops {
		for _, t := range op.In {
			readers[t]++
		}
	}
	return slices.ContainsFunc(m.Ops, func(op *model.Op) bool {
		if op.Kind != model.OpReduce || op.Fn != "sum" {
			return false
		}
		parts := op.In[0].Axes[op.Axis].LocalSize()
		return 1 < parts && parts <= 4 && readers[op.Out] > 1
	})
}

// storesReducedAxis reports whether a kernel has several results, one of which lists a reduced axis.
func storesReducedAxis(_ *model.Pipeline, p *hostir.Program) bool {
	return anyStmt(p, func(s hostir.Stmt) bool {
		k, ok := s.(*hostir.Fused)
		return ok && len(k.Out) > 1 && slices.ContainsFunc(k.Out, func(t *hostir.Tensor) bool { return len(hostir.Live(t)) < len(t.Axes) })
	})
}

// sumsRows reports whether a kernel folds columns: it reduces values that it computes over all rows.
func sumsRows(_ *model.Pipeline, p *hostir.Program) bool {
	return anyStmt(p, func(s hostir.Stmt) bool {
		k, ok := s.(*hostir.Fused)
		return ok && k.FoldsColumns()
	})
}

// attends returns a function that reports whether a program has an attention with heads or rows split over ranks.
func attends(split string) func(*model.Pipeline, *hostir.Program) bool {
	return func(_ *model.Pipeline, p *hostir.Program) bool {
		return anyStmt(p, func(s hostir.Stmt) bool {
			a, ok := s.(*hostir.Attention)
			return ok && a.Kind().Split == split && hostir.SplitOver(a.Queries().Axes[0]) != ""
		})
	}
}

// scattersToSlices reports whether a reduction over ranks splits a Stream axis over them, and its result has another Stream axis.
func scattersToSlices(p *model.Pipeline, _ *hostir.Program) bool {
	isStream := func(a domain.Axis) bool { return a.Kind == domain.Stream }
	return slices.ContainsFunc(p.Ops, func(op *model.Op) bool {
		if op.Kind != model.OpReduce || op.In[0].Axes[op.Axis].Kind != domain.Device {
			return false
		}
		in := domain.WithoutReductions(lists.Without(op.In[0].Axes, op.Axis))
		out := domain.WithoutReductions(op.Out.Axes)
		scattered := slices.IndexFunc(in, isStream)
		return scattered >= 0 && out[scattered].Kind == domain.Device && slices.ContainsFunc(out, isStream)
	})
}

// runsInSubChunks reports whether a statement in a loop uses the part of a tensor that the loop variable selects, such as a
// sub-chunk. The statement is a kernel, an elementwise operation, a cast, a concat or a GEMM.
func runsInSubChunks(_ *model.Pipeline, p *hostir.Program) bool {
	return anyStmt(p, func(s hostir.Stmt) bool {
		loop, ok := s.(*hostir.For)
		return ok && slices.ContainsFunc(loop.Body, func(s hostir.Stmt) bool {
			switch s.(type) {
			case *hostir.Fused, *hostir.Unary, *hostir.Binary, *hostir.Cast, *hostir.Concat, *hostir.Matmul, *hostir.Linear:
				return hostir.NamesPart(s, 0, loop.Var)
			default:
				return false
			}
		})
	})
}

// leadsInLoops reports whether a schedule sets a lead and loops contain the communications of several operations.
func leadsInLoops(m *model.Pipeline, p *hostir.Program) bool {
	moved := map[diag.Pos]bool{}
	for s := range hostir.All(p.Body) {
		if loop, ok := s.(*hostir.For); ok {
			for s := range hostir.All(loop.Body) {
				switch s.(type) {
				case *hostir.Communication, *hostir.P2PCommunication:
					moved[s.Meta().Pos] = true
				}
			}
		}
	}
	return len(moved) > 1 && slices.ContainsFunc(m.Schedule.Choices, func(c schedule.Choice) bool {
		return c.Field == schedule.Lead && c.Value != schedule.None
	})
}

// anyStmt reports whether any statement of a program or of its fallback variant satisfies the function is.
func anyStmt(p *hostir.Program, is func(hostir.Stmt) bool) bool {
	return slices.ContainsFunc(p.Variants(), func(form *hostir.Program) bool { return hostir.Any(form.Body, is) })
}
