package fromhost

import (
	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// peerReadSum lowers a sum that reads the partial sums in peer memory without copies.
func (b *builder) peerReadSum(s *hostir.PeerReadSum) []calls.Stmt {
	buffers, err := b.denseBuffers(s, "a peer-read reduction", s.Out, s.In)
	refuse(err)
	out, own := buffers[0], buffers[1]
	on := b.current
	sum := &calls.PeerSum{
		Info: because(b.computed(s, ""), whyReady), Name: b.names.Local(s.Out.Name + "_sum"), Own: b.pointer(own), Out: b.pointer(out),
		Elements: out.elements().Expr, Type: out.typ, On: on,
	}
	b.sum = sum.Name
	body := b.items(s.Body)
	b.sum = ""
	declared, body := withoutNames(body)
	sum.Body = body
	return append(append(declared, sum), b.returned("sum_"+s.Out.Name, sum.Info, on)...)
}
