package emit

import (
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
)

// list prints statements in order. Names that they declare end with the list.
func (b *builder) list(body []hostir.Stmt) ([]node, error) {
	outer := b.declared
	b.declared = nil
	defer func() {
		for _, t := range b.declared {
			delete(b.buffers, t)
		}
		b.declared = outer
	}()
	var nodes []node
	for i, s := range body {
		guard := b.guardOf(s, body[i+1:])
		b.guard = guard
		printed, err := b.statement(s, body[i+1:])
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, guarded(guard, printed)...)
	}
	return mergeGuards(nodes), nil
}

// statement prints one statement; rest is what follows it in its list.
func (b *builder) statement(s hostir.Stmt, rest []hostir.Stmt) ([]node, error) {
	switch s := s.(type) {
	case *hostir.GetCurrentStream:
		return b.getCurrentStream(s)
	case *hostir.SetCurrentStream:
		return b.setCurrentStream(s)
	case *hostir.Synchronize:
		return b.synchronize(s)
	case *hostir.Delay:
		b.kernels = true
		src := b.located(s, "delay", "Delay")
		return []node{&delayNode{src, s.Microseconds}}, nil
	case *hostir.For:
		return b.forLoop(s)
	case *hostir.If:
		return b.branch(s)
	case *hostir.SumLoans:
		return b.peerReadReduction(s)
	case *hostir.Communication:
		return b.communication(s)
	case *hostir.P2PCommunication:
		nodes, err := b.pointToPoint(s)
		return b.reached(s.Handle, nil, nodes), err
	case *hostir.StartCoalescing:
		return b.startGroup(s, rest)
	case *hostir.EndCoalescing:
		return b.endGroup(s)
	case *hostir.Wait:
		return b.wait(s)
	case *hostir.ShareMemHandles:
		return b.shareMemHandles(s)
	default:
		return b.compute(s)
	}
}

// compute prints the statements that make, view or fill tensors.
func (b *builder) compute(s hostir.Stmt) ([]node, error) {
	switch s := s.(type) {
	case *hostir.Allocate:
		return b.allocate(s)
	case *hostir.Deallocate:
		return b.deallocate(s)
	case *hostir.Select:
		return b.selectSlice(s)
	case *hostir.Broadcast:
		return b.broadcast(s)
	case *hostir.Reshape:
		return b.reshape(s)
	case *hostir.Permute:
		return b.permute(s)
	case *hostir.Set:
		return b.set(s)
	case *hostir.Cast:
		return b.cast(s)
	case *hostir.Unary:
		return b.unary(s)
	case *hostir.Binary:
		return b.binary(s)
	case *hostir.Reduce:
		return b.reduce(s)
	case *hostir.Matmul:
		return b.matmul(s)
	case *hostir.Linear:
		return b.linear(s)
	default:
		return nil, internalError(s.Meta().Pos, s.Op(), "there is no template for it")
	}
}

// forLoop prints a loop. The stream that is current in its body must not depend on
// whether an iteration went before, or GEMMs would not know their workspace.
func (b *builder) forLoop(s *hostir.For) ([]node, error) {
	count := b.scope.extent(s.Count)
	name := b.names.local(s.Var)
	hidden, shadowed := b.scope.names[s.Var]
	b.scope.names[s.Var] = name
	b.loops = append(b.loops, loop{name: name, count: count, runs: less(count, s.First)})
	before, keeps := b.current, b.keepsStream(s)
	if !keeps {
		b.current = unknownStream
	}
	outer := len(b.named)
	b.nameRepeats(s.Body, s.Var)
	body, err := b.list(s.Body)
	body = append(b.endRepeats(outer), body...)
	if b.current = b.current.outside(); keeps {
		b.current = before
	}
	b.loops = b.loops[:len(b.loops)-1]
	if err == nil && len(b.loops) == 0 {
		err = b.fillEarlier()
	}
	delete(b.scope.names, s.Var)
	if shadowed {
		b.scope.names[s.Var] = hidden
	}
	b.names.release(s.Var, name) // the next loop may use it again
	if err != nil {
		return nil, err
	}
	return []node{&forNode{b.source(s), name, strconv.FormatInt(s.First, 10), count.String(), body}}, nil
}

// declare gives a tensor its memory until the end of the statement list. It reports
// whether the name is new there; otherwise it is assigned again.
func (b *builder) declare(t *hostir.Tensor, buf *buffer) bool {
	_, again := b.buffers[t]
	b.buffers[t] = buf
	if !again {
		b.declared = append(b.declared, t)
	}
	return !again
}

// operandBuffer finds the memory of a tensor that a statement names.
func (b *builder) operandBuffer(s hostir.Stmt, t *hostir.Tensor) (*buffer, error) {
	if buf, ok := b.buffers[t]; ok {
		return buf, nil
	}
	return nil, internalError(s.Meta().Pos, s.Op(), "%s has no buffer here", t.Name)
}

// operandBuffers finds the memory of several tensors.
func (b *builder) operandBuffers(s hostir.Stmt, tensors ...*hostir.Tensor) ([]*buffer, error) {
	var list []*buffer
	for _, t := range tensors {
		buf, err := b.operandBuffer(s, t)
		if err != nil {
			return nil, err
		}
		list = append(list, buf)
	}
	return list, nil
}

// source tells where a statement comes from.
func (b *builder) source(s hostir.Stmt) source {
	info := s.Meta()
	return source{Text: text.Statement(s), Note: info.Note}
}

// located is source for a statement that makes calls: what an error calls it, in
// words, becomes a constant with a name like the label. A part of a group of flags, or of a
// peer-read reduction, makes none of its own.
func (b *builder) located(s hostir.Stmt, label, words string) source {
	src := b.source(s)
	if b.signals == nil && b.reduction == "" {
		src.Where = b.label(label, at(s.Meta().Pos, words))
	}
	return src
}

// label declares a constant for what errors call a statement, once per text.
func (b *builder) label(label, source string) string {
	if name, ok := b.labels[source]; ok {
		return name
	}
	name := b.names.constant(label)
	b.labels[source] = name
	b.view.Labels = append(b.view.Labels, labelView{name, source})
	return name
}

// notContiguous is the error for an operand that a call would misread.
func (b *builder) notContiguous(s hostir.Stmt, t *hostir.Tensor, use string) error {
	var list diag.List
	list.Add(s.Meta().Pos, diag.NotContiguous, "%s reads or writes %s, whose elements are not in one run of memory", use, hostir.Called(b.program, s, t)).
		WithHint("copy it with set into a tensor of its own before")
	return list.Err()
}

// usedTensors finds the tensors that some statement really reads or writes: a view
// that nobody uses is not declared. A view that only a peer reads or writes is not,
// either: it is the peer that names it; what it is a view of is used.
func usedTensors(body []hostir.Stmt) map[*hostir.Tensor]bool {
	var order []hostir.Stmt
	named := map[hostir.Stmt]bool{}
	hostir.Walk(body, func(s hostir.Stmt) bool {
		order = append(order, s)
		if t, ok := s.(*hostir.P2PCommunication); ok {
			named[s] = named[s] || t.Owns()
		}
		if sum, ok := s.(*hostir.SumLoans); ok {
			hostir.Walk(sum.Body, func(s hostir.Stmt) bool {
				named[s] = true
				return true
			})
		}
		return true
	})
	// A view that a peer uses in one branch and this rank in another is used in both: so once more,
	// while there are more.
	used, makers := map[*hostir.Tensor]bool{}, hostir.ViewMakers(body)
	for known := -1; known < len(used); {
		known = len(used)
		addUsed(order, makers, named, used)
	}
	return used
}

// addUsed adds the tensors that statements in this order use, given those known already, the
// statements that make views, and those that name what a peer reads or is read from.
func addUsed(order []hostir.Stmt, makers, named map[hostir.Stmt]bool, used map[*hostir.Tensor]bool) {
	remote := map[*hostir.Tensor]bool{}
	for _, s := range slices.Backward(order) {
		mentioned := append(hostir.Uses(s), hostir.Defs(s)...)
		if out := hostir.Result(s); makers[s] && !used[out] {
			switch in := mentioned[0]; {
			case remote[out] && in.Role == hostir.View:
				remote[in] = true
			case remote[out]:
				used[in] = true
			}
			continue
		}
		if t, ok := s.(*hostir.P2PCommunication); ok && named[s] && t.Buffer.Role == hostir.View {
			remote[t.Buffer] = true
			continue
		}
		for _, t := range mentioned {
			used[t] = true
		}
	}
}
