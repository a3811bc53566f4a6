// Package fromhost translates host programs to calls.
package fromhost

import (
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/extents"
	"github.com/hirgen/hirgen/calls/names"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// A Translation holds the calls of a host program and of its fallback variant. The passes on calls change them in
// place.
type Translation struct{ variants []*builder }

// Translate translates a host program to calls. The error is a *diag.Errors or, if a pass made an invalid host program,
// an internal error of another type.
func Translate(p *hostir.Program) (*Translation, error) {
	t, suffix := &Translation{}, ""
	var taken []string // names of the kernels of the first variant, since both variants are in one file
	for _, form := range p.Variants() {
		b, err := translate(form, append(taken, names.ClassName(p.Name+suffix), "hirgen_"+p.Name, p.Name))
		if err != nil {
			return nil, err
		}
		for _, k := range b.out.Kernels {
			taken = append(taken, k.Name, names.ClassName(k.Name))
		}
		t.variants, suffix = append(t.variants, b), calls.AcrossNodes
	}
	return t, nil
}

// Programs lists the calls of the variants.
func (t *Translation) Programs() []*calls.Program {
	return lists.Map(t.variants, func(b *builder) *calls.Program { return b.out.Program })
}

// Describe describes the variants after the passes on calls. It returns the first variant; its Fallback is the fallback
// variant, if there is one.
func (t *Translation) Describe() *calls.Described {
	var fallback *calls.Described
	for i := len(t.variants) - 1; i >= 0; i-- {
		b := t.variants[i]
		b.keepConstants()
		b.describe()
		if b.out.Fallback = fallback; fallback != nil {
			shareKernels(b.out.Program, fallback.Program)
		}
		fallback = b.out
	}
	return fallback
}

// translate translates one variant. It does not assign the reserved names.
func translate(p *hostir.Program, reserved []string) (b *builder, err error) {
	defer func() {
		switch caught := recover().(type) {
		case nil:
		case refusal:
			err = caught.error
		case extents.ErrOverflow:
			err = errorAt(diag.Pos{File: p.File}, "a buffer of this program has more elements than 64 bits count")
		default:
			panic(caught)
		}
	}()
	if len(p.Meshes) == 0 {
		return nil, errorAt(diag.Pos{File: p.File}, "there is no mesh")
	}
	b = newBuilder(p, reserved)
	b.constants()
	b.arguments()
	b.nameRepeats(p.Body, "")
	body := b.list(p.Body)
	repeats := b.endRepeats(0)
	head := append(b.usedCoordinates(), repeats...)
	b.out.Body = append(append(head, b.beginCalls()...), body...)
	b.finishShares()
	b.out.Constants = b.scope.Parts.List
	for _, s := range b.sizes {
		b.out.Gemms = append(b.out.Gemms, s.Size)
	}
	b.rewrite(b.scope.Parts.Wholes())
	return b, nil
}

// list lowers statements in order. The buffers and views that they declare are in scope until the end of the list.
func (b *builder) list(body []hostir.Stmt) []calls.Stmt {
	outer := b.declared
	b.declared = nil
	defer func() {
		for _, t := range b.declared {
			delete(b.buffers, t)
		}
		b.declared = outer
	}()
	return b.items(body)
}

// items lowers statements in order. The declarations of the views that a statement uses first precede the statement.
func (b *builder) items(body []hostir.Stmt) []calls.Stmt {
	defer func(outer []calls.Stmt) { b.views = outer }(b.views)
	var list []calls.Stmt
	introduced := hostir.Introductions(body)
	for i := 0; i < len(body); i++ {
		guard := b.guardOf(body[i], body[i+1:])
		if guard == b.inside {
			guard = ""
		}
		b.guard, b.views = b.guardOf(body[i], body[i+1:]), nil
		for _, t := range introduced[i] {
			b.operandBuffer(body[i], t)
		}
		lowered := b.statement(body[i], body[i+1:])
		b.note(body[i], lowered)
		list = append(append(list, b.views...), guarded(guard, lowered)...)
		i, b.skip = i+b.skip, 0
	}
	return calls.MergeIfs(list)
}

// note gives the position of a host statement to its calls that have none, and the statement's note to the first of
// them. If there is no call, or if the first call already has a note, the first call of a later statement gets the
// note, unless a later note replaces it.
func (b *builder) note(s hostir.Stmt, lowered []calls.Stmt) {
	if text := strings.Join(strings.Fields(s.Meta().Note), " "); text != "" {
		b.kept = text
	}
	for i, l := range lowered {
		info := l.Meta()
		if info.Pos.Line == 0 {
			info.Pos = s.Meta().Pos
		}
		if i == 0 && info.Note == "" && b.kept != "" {
			info.Note, b.kept = b.kept, ""
		}
	}
}

// statement lowers one statement. rest are the statements after it in its list.
func (b *builder) statement(s hostir.Stmt, rest []hostir.Stmt) []calls.Stmt {
	switch s.(type) {
	case *hostir.For, *hostir.If:
	default:
		b.current = b.streamOf(s.Meta().On)
	}
	switch s := s.(type) {
	case *hostir.GetCurrentStream:
		return nil
	case *hostir.Synchronize:
		return b.synchronize(s)
	case *hostir.Delay:
		return []calls.Stmt{&calls.Delay{Info: b.info(s, "delay", "Delay"), Microseconds: s.Microseconds, On: b.current}}
	case *hostir.For:
		return b.forLoop(s)
	case *hostir.If:
		return b.branch(s)
	case *hostir.PeerReadSum:
		return b.peerReadSum(s)
	case *hostir.Communication:
		return must(b.communication(s))
	case *hostir.P2PCommunication:
		return b.onlyWithPeers(s.Handle, nil, must(b.pointToPoint(s)))
	case *hostir.StartCoalescing:
		return b.startGroup(s, rest)
	case *hostir.EndCoalescing:
		panic(refusal{internalError(s, "no group is open")})
	case *hostir.Wait:
		return must(b.wait(s))
	case *hostir.ShareMemHandles:
		return nil // the emitted program exchanges handles in its constructor or at the start of a call
	default:
		return b.compute(s)
	}
}

// compute lowers statements that use the memory of one rank only, such as GEMMs, views and allocations.
func (b *builder) compute(s hostir.Stmt) []calls.Stmt {
	switch s := s.(type) {
	case *hostir.Allocate:
		return b.allocate(s)
	case *hostir.Deallocate:
		b.operandBuffer(s, s.Tensor) // an error if it has no buffer; the memory is kept for the next call
		return nil
	case *hostir.Broadcast, *hostir.Reshape, *hostir.Permute, *hostir.Slice:
		return b.rearranged(s)
	case *hostir.Set:
		return b.copyLike(s)
	case *hostir.Positions:
		return b.positions(s)
	case *hostir.Concat:
		return b.concat(s)
	case *hostir.Cast:
		return b.copyLike(s)
	case *hostir.Unary:
		return b.unary(s)
	case *hostir.Binary:
		return b.binary(s)
	case *hostir.Reduce:
		return b.reduce(s)
	case *hostir.Fused:
		return b.fused(s)
	case *hostir.Gather:
		return b.gather(s)
	case *hostir.TopK:
		return b.topK(s)
	case *hostir.Attention:
		return b.attention(s)
	case *hostir.Matmul:
		return b.matmul(s)
	case *hostir.Linear:
		return b.linear(s)
	case *hostir.BlockLinear:
		return b.blockLinear(s)
	default:
		panic(refusal{internalError(s, "nothing calls it")})
	}
}

// forLoop lowers a loop.
func (b *builder) forLoop(s *hostir.For) []calls.Stmt {
	count := b.scope.Extent(s.Count)
	name := b.names.Local(s.Var)
	hidden, shadowed := b.scope.Names[s.Var]
	b.scope.Names[s.Var] = name
	b.loops = append(b.loops, loop{name: name, count: count, runs: less(count, s.First)})
	outer := len(b.named)
	b.nameRepeats(s.Body, s.Var)
	body := b.list(s.Body)
	body = append(b.endRepeats(outer), body...)
	b.loops = b.loops[:len(b.loops)-1]
	if len(b.loops) == 0 {
		b.fillEarlier()
	}
	delete(b.scope.Names, s.Var)
	if shadowed {
		b.scope.Names[s.Var] = hidden
	}
	b.names.Release(s.Var, name) // the next loop may use the name again
	return []calls.Stmt{&calls.For{Var: name, First: s.First, Count: count.Expr, Body: body}}
}

// declare sets the memory of a tensor until the end of the current list of statements.
func (b *builder) declare(t *hostir.Tensor, buf *buffer) {
	if _, again := b.buffers[t]; !again {
		b.declared = append(b.declared, t)
	}
	b.buffers[t] = buf
}

// operandBuffer returns the memory of a tensor that a statement uses. It declares a view on first use.
func (b *builder) operandBuffer(s hostir.Stmt, t *hostir.Tensor) *buffer {
	if buf, ok := b.buffers[t]; ok {
		return buf
	}
	if t.Of != nil {
		return b.view(t)
	}
	panic(refusal{internalError(s, "%s has no buffer here", t.Name)})
}

// operandBuffers returns the memory of several tensors.
func (b *builder) operandBuffers(s hostir.Stmt, tensors ...*hostir.Tensor) []*buffer {
	var list []*buffer
	for _, t := range tensors {
		buf := b.operandBuffer(s, t)
		list = append(list, buf)
	}
	return list
}

// denseBuffers returns the memory of tensors. It is an error if one is not contiguous.
func (b *builder) denseBuffers(s hostir.Stmt, use string, tensors ...*hostir.Tensor) ([]*buffer, error) {
	buffers := b.operandBuffers(s, tensors...)
	for _, u := range buffers {
		if !u.contiguous() {
			return nil, b.notContiguous(s, u.tensor, use)
		}
	}
	return buffers, nil
}

// info returns the position, the reason and the label of a statement that makes calls. The label is a constant with the
// text that errors show. Parts of a peer-read sum have no label.
func (b *builder) info(s hostir.Stmt, label, words string) calls.Info {
	info := calls.Info{Pos: s.Meta().Pos, Why: s.Meta().Why}
	if b.sum == "" {
		info.Label = b.label(label, calls.At(s.Meta().Pos, words))
	}
	return info
}

// label returns the name of the constant for the text with which errors name a statement. It declares the constant once
// for each text.
func (b *builder) label(label, text string) string {
	if name, ok := b.labels[text]; ok {
		return name
	}
	name := b.names.Constant(label)
	b.labels[text] = name
	b.out.Labels = append(b.out.Labels, &calls.Label{Name: name, Text: text})
	return name
}
