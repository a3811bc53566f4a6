package passes

import (
	"cmp"
	"slices"

	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/lowering/calls/order"
)

// shareMemory gives buffers the same memory where, on every rank, all that uses one of
// them is done before anything that uses the next one begins, by the waits that are there: it costs nothing.
// What is in use while calls follow each other stays apart. Of the buffers in one memory
// the largest has it. What works on the caller's stream has the workspace of a compute stream where it never works beside that.
func shareMemory(p *calls.Program) {
	shareBuffers(p)
	if caller, compute := p.Workspaces(); caller == nil || compute == nil || order.Clash(p, firstForCaller) != nil {
		return
	}
	calls.Walk(p.Body, func(s calls.Stmt) bool {
		switch s := s.(type) {
		case *calls.Gemm:
			s.Workspace = firstForCaller(s.Workspace)
		case *calls.Attend:
			s.Workspace = firstForCaller(s.Workspace)
		}
		return true
	})
}

// firstForCaller gives what works on the caller's stream the workspace of the first compute stream.
func firstForCaller(index expr.Expr) expr.Expr {
	if index == nil {
		return expr.Int(0)
	}
	return index
}

// shareBuffers takes buffers from the largest to the smallest, so that none of them makes a memory larger. Those that have one memory
// already stay together.
func shareBuffers(p *calls.Program) {
	values, begins := p.Values(), map[*order.Life]int{}
	size := func(b *calls.Buffer) int64 {
		elements, _ := values.Eval(b.Elements)
		return elements * b.Type.Size()
	}
	lives, inside := together(p)
	for i, life := range lives {
		begins[life] = i
	}
	slices.SortStableFunc(lives, func(a, b *order.Life) int { return cmp.Compare(size(b.Buffer), size(a.Buffer)) })
	var memories []*memory
	for _, life := range lives {
		m := smallest(memories, life, begins)
		if m == nil {
			memories = append(memories, &memory{life.Buffer, []*order.Life{life}})
			continue
		}
		for _, b := range append(inside[life.Buffer.Name], life.Buffer) {
			b.In = m.buffer.Name
		}
	}
	ownFirst(p)
}

// together gives the lives of memories, each of all that is in it, and the buffers in the memory of others, by these. What is in no
// order with another call has none.
func together(p *calls.Program) (lives []*order.Life, inside map[string][]*calls.Buffer) {
	inside = map[string][]*calls.Buffer{}
	for _, b := range p.Buffers {
		if b.In != "" {
			inside[b.In] = append(inside[b.In], b)
		}
	}
	of := map[string]*order.Life{}
	for _, life := range order.Lives(p) {
		if of[life.Buffer.Name] = life; life.Buffer.In == "" {
			lives = append(lives, life)
		}
	}
	return slices.DeleteFunc(lives, func(life *order.Life) bool {
		for _, b := range inside[life.Buffer.Name] {
			if of[b.Name] == nil {
				return true
			}
			life.Join(of[b.Name])
		}
		return false
	}), inside
}

// mostMemories is how many of the latest memories are looked at, and how many buffers are written over each other: programs of many
// thousand buffers stay linear.
const mostMemories = 64

// memory holds buffers, one after the other.
type memory struct {
	buffer *calls.Buffer // the largest one, which has it
	lives  []*order.Life // as they begin
}

// smallest gives a life the latest memory that is free for it, of which it wastes least; nil where none is.
func smallest(memories []*memory, life *order.Life, begins map[*order.Life]int) *memory {
	for _, m := range slices.Backward(memories[max(0, len(memories)-mostMemories):]) {
		if m.buffer.Guard == life.Buffer.Guard && m.take(life, begins) {
			return m
		}
	}
	return nil
}

// take adds a life between those before and behind it, if it overlaps with neither.
func (m *memory) take(life *order.Life, begins map[*order.Life]int) bool {
	at, _ := slices.BinarySearchFunc(m.lives, begins[life], func(other *order.Life, begin int) int {
		return cmp.Compare(begins[other], begin)
	})
	if at > 0 && !m.lives[at-1].Before(life) || at < len(m.lives) && !life.Before(m.lives[at]) {
		return false
	}
	m.lives = slices.Insert(m.lives, at, life)
	return true
}
