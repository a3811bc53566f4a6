package fromhost

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/calls/extents"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// size is the size of a GEMM, as expressions and as numbers.
type size struct {
	calls.Size
	numbers [4]int64 // M, N, K and Batch
}

// account adds a collective to the summary of communications in About.
func (b *builder) account(s *hostir.Communication, in, out *buffer) {
	whole := out
	if in.elements().Size > out.elements().Size {
		whole = in
	}
	over := s.MeshAxis
	switch {
	case s.Type == collective.SendRecv:
		over = fmt.Sprintf("meshes %s and %s", s.In.Mesh.Name, s.Out.Mesh.Name)
	case s.MeshAxis == "":
		over = "mesh " + s.Mesh.Name
	}
	words := cmp.Or(b.partOf(s, s.In), collectiveWords(s.Type)+" of "+in.root.Name+" over "+over)
	b.fills(out, words)
	b.accountFor(words, s.Type.Kind(), whole, b.ranksOf(s))
}

// accountTransfer adds a receive to the summary. It ignores sends, because their receives count.
func (b *builder) accountTransfer(s *hostir.P2PCommunication, buf *buffer) {
	if !s.Send {
		by := strings.TrimSpace(string(s.Backend) + " " + string(s.Locality))
		what := "transfers into"
		if b.sum != "" {
			what = "partial sums of peers read for"
		}
		if part := b.partOf(s, b.sent(s)); part != "" {
			b.fills(buf, part)
			what = part + ": " + what
		}
		b.accountFor(fmt.Sprintf("%s %s from rank to rank by %s", what, buf.root.Name, by), collective.SendRecv.Kind(), buf, extents.Number(1))
	}
}

// fills records the communication that writes to a buffer, in words.
func (b *builder) fills(buf *buffer, words string) {
	for _, d := range b.out.Buffers {
		if d.Name == buf.base {
			d.From, _, _ = strings.Cut(words, ",")
		}
	}
}

// accountFor adds a communication to the summary in words, once if the previous entry is the same. It also keeps the
// size of the largest communication, for which the program reports bandwidths. ranks is the team size of a collective,
// and 1 for a receive. The size in bytes is defined as in nccl-tests: for a collective, the larger of its operand and
// its result on one rank, and for a receive, the received data. It is multiplied by the number of times that the
// statement runs in a call.
func (b *builder) accountFor(text, kind string, whole *buffer, ranks extents.Quantity) {
	text += b.perIteration()
	r := &b.out.About
	if len(r.Derived) == 0 || r.Derived[len(r.Derived)-1] != text {
		r.Derived = append(r.Derived, text)
	}
	element := extents.Quantity{Expr: expr.Var("sizeof(" + whole.typ.Row().Alias() + ")"), Size: whole.typ.Size()}
	bytes := extents.Times(b.happens(), whole.elements(), element)
	if r.Bytes == nil || bytes.Size > b.largest {
		b.largest = bytes.Size
		r.Bytes, r.Largest, r.Team = bytes.Expr, kind, ranks.Expr
	}
}

// accountGemm adds the GEMMs of one statement, with M multiplied by the number of iterations of the loops around it.
func (b *builder) accountGemm(p gemm) {
	m, batch := extents.Times(b.runs(), p.m), p.gemms()
	b.sizes = append(b.sizes, size{calls.Size{M: m.Expr, N: p.n.Expr, K: p.k.Expr, Batch: batch.Expr},
		[4]int64{m.Size, p.n.Size, p.k.Size, batch.Size}})
}

// perIteration names the loops around a communication: ", one slice in each iteration over s". It is empty outside of
// loops.
func (b *builder) perIteration() string {
	if len(b.loops) == 0 {
		return ""
	}
	return ", one slice in each iteration over " + lists.Join(b.loops, func(l loop) string { return l.name })
}

// A condition is the Cond of a branch around the current statement.
type condition struct {
	holds expr.Expr // an expression over names of the emitted program
	not   bool      // the statement is in the Else: it runs if holds is 0
}

// happens returns how often the current statement runs in a call. It does not count iterations in which a condition on
// loop variables is false, such as the condition that excludes the local shard. Conditions that depend on the rank
// count as true.
func (b *builder) happens() extents.Quantity {
	alone := func(c condition) bool {
		return len(lists.Except(b.loops, func(l loop) bool { return !expr.Mentions(c.holds, l.name) })) == 1
	}
	if slices.ContainsFunc(b.conditions, func(c condition) bool { return !alone(c) }) {
		runs := b.runs()
		return without(runs, runs.Size-b.passes(b.loops, b.conditions, map[string]int64{}))
	}
	count := extents.Number(1)
	for _, l := range b.loops {
		own := lists.Except(b.conditions, func(c condition) bool { return !expr.Mentions(c.holds, l.name) })
		if len(own) > 0 {
			l.runs = without(l.runs, l.runs.Size-b.passes([]loop{l}, own, map[string]int64{}))
		}
		count = extents.Times(count, l.runs)
	}
	return count
}

// passes counts the iterations of loops in which all conditions are true. It ignores conditions that it cannot
// evaluate.
func (b *builder) passes(loops []loop, conditions []condition, values map[string]int64) int64 {
	if len(loops) == 0 {
		for _, c := range conditions {
			value, err := expr.Eval(c.holds, func(name string) (int64, bool) {
				if v, ok := values[name]; ok {
					return v, true
				}
				return b.constantValue(name)
			})
			if err == nil && (value == 0) != c.not {
				return 0
			}
		}
		return 1
	}
	count, l := int64(0), loops[0]
	for i := l.count.Size - l.runs.Size; i < l.count.Size; i++ {
		values[l.name] = i
		count += b.passes(loops[1:], conditions, values)
	}
	return count
}

// without subtracts a number from a quantity.
func without(q extents.Quantity, number int64) extents.Quantity {
	if number == 0 {
		return q
	}
	return extents.Quantity{Expr: expr.Fold(&expr.Binary{Op: "-", X: q.Expr, Y: expr.Int(number)}), Size: q.Size - number}
}
