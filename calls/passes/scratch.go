package passes

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// The gradients of attentions use scratch memory: bytes of the program's memory that are otherwise unused at that time.
// cuDNN reports how much it needs when the program starts. If the scratch memory is too small, the attention allocates
// separate memory.

// addScratch declares scratch memory of ScratchElements for each attention on the caller's stream that needs any.
func addScratch(p *calls.Program) {
	attentions, labels, values, taken := calls.ByName(p.Attentions), calls.ByName(p.Labels), p.Values(), namesOf(p)
	for s := range calls.All(p.Body) {
		a, ok := s.(*calls.Attend)
		if !ok || a.Scratch.Base != "" || a.Workspace != nil {
			continue
		}
		d := attentions[a.Attention]
		name := strings.TrimSuffix(d.Plan, "_") + "_workspace_"
		if elements, _ := d.ScratchElements(values); elements != nil && !taken[name] {
			a.Scratch.Base = name
			p.Buffers = append(p.Buffers, &calls.Buffer{
				Name: name, Type: calls.ScratchType, Elements: elements, Where: labels[d.Label].Text + ", workspace", Works: d.Name,
			})
		}
	}
}

// widenScratch extends each scratch block in both directions: up to the next blocks that are in use at the same time,
// or to the ends of the memory. blocks lists the blocks of one memory, sorted by offset.
func widenScratch(blocks []*block) {
	last := int64(0)
	for _, b := range blocks {
		last = max(last, b.end())
	}
	for _, b := range blocks {
		if !b.isScratch() {
			continue
		}
		first, end := blocks[0].at, last
		for _, o := range b.beside {
			switch {
			case o.at < 0 || o.in != nil:
			case o.at < b.at:
				first = max(first, aligned(o.end()))
			default:
				end = min(end, o.at)
			}
		}
		if end-first > b.bytes {
			b.at, b.bytes = first, end-first
			b.life.Buffer.Elements = expr.Int(b.bytes / b.life.Buffer.Type.Size())
		}
	}
}

// dropScratch drops scratch memory that was not placed inside another memory.
func dropScratch(p *calls.Program) {
	dropped := map[string]bool{}
	p.Buffers = slices.DeleteFunc(p.Buffers, func(b *calls.Buffer) bool {
		dropped[b.Name] = b.Works != "" && b.In == ""
		return dropped[b.Name]
	})
	for a := range calls.Each[*calls.Attend](p.Body) {
		if dropped[a.Scratch.Base] {
			a.Scratch = calls.Pointer{}
		}
	}
}
