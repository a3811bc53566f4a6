package passes

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/order"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// shareMemory lets buffers share memory if the existing waits order all uses of one before all uses of the next, on
// every rank. So it adds no waits. Buffers in use at the same time get different bytes, in one allocation if that takes
// less memory, or in outputs until their results are written. Buffers that are in use from one call to the next stay
// separate. The gradient of an attention uses bytes that others leave free as scratch memory. Work on the caller's
// stream uses the workspace of the first compute stream, if the two streams never use it at the same time.
//
//	Buffer(name A_, type bf16, elements 256)      Buffer(name A_, type bf16, elements 256)
//	Buffer(name B_, type bf16, elements 128)  ->  Buffer(name B_, in A_, type bf16, elements 128)
//	Buffer(name C_, type bf16, elements 128)      Buffer(name C_, in A_, offset 256, type bf16, elements 128)
//
// Here B_ and C_ are in use at the same time, and A_ before or after that.
func shareMemory(p *calls.Program) {
	addScratch(p)
	shareBuffers(p)
	dropScratch(p)
	if caller, compute := p.Workspaces(); caller == nil || compute == nil || order.Clash(p, firstForCaller) != nil {
		return
	}
	for s := range calls.All(p.Body) {
		switch s := s.(type) {
		case *calls.Gemm:
			s.Workspace = firstForCaller(s.Workspace)
		case *calls.Attend:
			s.Workspace = firstForCaller(s.Workspace)
		}
	}
}

// firstForCaller returns the index of a workspace, with the workspace of the first compute stream in place of the
// caller's.
func firstForCaller(index expr.Expr) expr.Expr {
	if index == nil {
		return expr.Int(0)
	}
	return index
}

// shareBuffers packs buffers together if the same ranks have them. All ranks have the outputs.
func shareBuffers(p *calls.Program) {
	values := p.Values()
	var guards []string
	of := map[string][]*block{}
	for _, b := range blocksOf(p) {
		guard := b.life.Buffer.Guard
		if of[guard] == nil {
			guards = append(guards, guard)
		}
		elements, _ := values.Eval(b.life.Buffer.Elements)
		b.bytes = elements * b.life.Buffer.Type.Size()
		of[guard] = append(of[guard], b)
	}
	names := &arenaNames{program: p}
	for _, guard := range guards {
		pack(of[guard])
		for _, b := range of[guard] {
			if b.in != nil && b.in != b {
				b.move(b.in.life.Buffer, b.at)
			}
		}
		for _, list := range cut(of[guard]) {
			widenScratch(list)
			if len(list) > 1 {
				put(p, names, list)
			}
		}
	}
	ownFirst(p)
}

// move moves the buffers of a block into the memory of another buffer, at bytes after its start.
func (b *block) move(memory *calls.Buffer, at int64) {
	for _, in := range b.buffers {
		if in != memory {
			in.In, in.Offset = memory.Name, in.Offset+at
		}
	}
}

// blocksOf lists the memories of a program, in the order in which their lifetimes begin. The lifetime of a block covers
// all buffers in it. Blocks with a buffer that has no lifetime (order.Lifetimes) are omitted.
func blocksOf(p *calls.Program) (blocks []*block) {
	inside, reached := map[string][]*calls.Buffer{}, p.Reached()
	for _, b := range p.Buffers {
		if b.In != "" {
			inside[b.In] = append(inside[b.In], b)
		}
	}
	of, begins := map[string]*order.Lifetime{}, map[string]int{}
	lifetimes := order.Lifetimes(p)
	for i, life := range lifetimes {
		of[life.Buffer.Name], begins[life.Buffer.Name] = life, i
	}
	for _, life := range lifetimes {
		if life.Buffer.In != "" {
			continue
		}
		b := &block{life: life, at: -1, buffers: append([]*calls.Buffer{life.Buffer}, inside[life.Buffer.Name]...)}
		b.fixed = b.isScratch() || slices.ContainsFunc(b.buffers, func(in *calls.Buffer) bool { return reached[in.Name] })
		if slices.ContainsFunc(b.buffers, func(in *calls.Buffer) bool { return of[in.Name] == nil }) {
			continue
		}
		for _, in := range b.buffers[1:] {
			life.Join(of[in.Name])
			begins[life.Buffer.Name] = min(begins[life.Buffer.Name], begins[in.Name])
		}
		blocks = append(blocks, b)
	}
	slices.SortStableFunc(blocks, func(a, b *block) int {
		return cmp.Compare(begins[a.life.Buffer.Name], begins[b.life.Buffer.Name])
	})
	return blocks
}

// put moves blocks into one memory: the memory of the largest block if it is large enough, and otherwise a new arena.
func put(p *calls.Program, names *arenaNames, list []*block) {
	first, end := list[0].at, int64(0)
	for _, b := range list {
		end = max(end, b.end())
	}
	largest := slices.MaxFunc(list, func(a, b *block) int { return cmp.Compare(a.ofBuffers(), b.ofBuffers()) })
	memory := largest.life.Buffer
	if largest.bytes < end-first || largest.isScratch() {
		memory = arena(names.next(), memory, end-first, len(list))
		p.Buffers = append(p.Buffers, memory)
	}
	for _, b := range list {
		b.move(memory, b.at-first)
	}
}

// arena returns a buffer of the given bytes that contains a number of buffers. It has the element type of the largest
// of them.
func arena(name string, largest *calls.Buffer, bytes int64, buffers int) *calls.Buffer {
	elements := (bytes + largest.Type.Size() - 1) / largest.Type.Size()
	return &calls.Buffer{
		Name: name, Arena: true, Type: largest.Type, Elements: expr.Int(elements), Guard: largest.Guard,
		Where: fmt.Sprintf("%s and %d more", largest.Where, buffers-1), Shape: []expr.Expr{expr.Int(elements)},
	}
}

// arenaNames makes names for arenas that no declaration uses.
type arenaNames struct {
	program *calls.Program
	taken   map[string]bool
	last    int
}

// next returns the next free name of memory_, memory_2_ and so on.
func (n *arenaNames) next() string {
	if n.taken == nil {
		n.taken = namesOf(n.program)
	}
	for {
		n.last++
		name := "memory_"
		if n.last > 1 {
			name = fmt.Sprintf("memory_%d_", n.last)
		}
		if !n.taken[name] {
			return name
		}
	}
}

// namesOf returns the names in the string fields of declarations and statements. It omits names in lists, pointers,
// streams and expressions.
func namesOf(p *calls.Program) map[string]bool {
	taken, all := map[string]bool{}, p.Declarations()
	for s := range calls.All(p.Body) {
		all = append(all, s)
	}
	for _, d := range all {
		for _, f := range calls.Fields(d) {
			if name, ok := f.Value.(*string); ok && !f.Text {
				taken[*name] = true
			}
		}
	}
	return taken
}
