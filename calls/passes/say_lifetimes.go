package passes

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/order"
)

// sayLifetimes sets the labels of the first and last statements that use a buffer, which the program shows in a
// comment. It does so for buffers that share memory with another buffer or an output, except scratch memory of
// attentions.
//
//	Buffer(name Rq_, in U1_)  ->  Buffer(name Rq_, in U1_, first kRopeRq, last kAttentionPV)
func sayLifetimes(p *calls.Program) {
	own, spans := calls.ByName(p.Buffers), order.Spans(p)
	say := func(b *calls.Buffer) { b.First, b.Last = spans[b.Name][0], spans[b.Name][1] }
	for _, b := range p.Buffers {
		if b.In == "" || b.Works != "" {
			continue
		}
		say(b)
		if in := own[b.In]; in != nil {
			say(in)
		}
	}
}
