package unroll

import (
	"fmt"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/issue"
)

// Print returns the operations of a rank as text, one on each line: index, stream, kind, label and loop step, then
// events, flags, accesses and parts of NCCL calls.
func (p *Program) Print(rank int32) string {
	var b strings.Builder
	r := &p.Ranks[rank]
	for i := range r.Ops {
		fmt.Fprintf(&b, "%d %s\n", i, p.Line(rank, int32(i)))
	}
	return b.String()
}

// Line returns the text of an operation.
func (p *Program) Line(rank, op int32) string {
	r := &p.Ranks[rank]
	o := &r.Ops[op]
	words := []string{p.Streams[o.Stream] + ":", p.Title(o)}
	switch o.Kind {
	case Wait:
		words = append(words, fmt.Sprintf("for %d", o.Arg))
	case Record:
		words = append(words, fmt.Sprintf("event %d", o.Arg))
	}
	for _, s := range r.SignalsOf(o) {
		verb := "waits"
		if s.Write {
			verb = "sets"
		}
		words = append(words, fmt.Sprintf("%s %s", verb, p.FlagName(s.Owner, s.Flag)))
	}
	for _, a := range r.AccessesOf(o) {
		words = append(words, p.AccessName(rank, a))
	}
	for _, part := range r.PartsOf(o) {
		words = append(words, p.partName(part))
	}
	return strings.Join(words, " ")
}

// Title returns the name of an operation: "Gemm kMatmulC s=1".
func (p *Program) Title(o *Op) string {
	text := kinds[o.Kind]
	if o.Kind == Begin {
		return text + " " + p.Shares[o.Arg].Declared.Name
	}
	if o.Stmt < 0 {
		return text
	}
	s := p.Stmts[o.Stmt]
	text = calls.Op(s)
	if label := s.Meta().Label; label != "" {
		text += " " + label
	}
	if o.Kind == Join {
		text += " (all copies)"
	}
	if o.Step >= 0 {
		text += fmt.Sprintf(" s=%d", o.Step)
	}
	return text
}

var kinds = [...]string{
	CallBegin: "the caller (before the call)", CallEnd: "the caller (behind the call)", Begin: "BeginCall", Record: "EventRecord",
	Wait:  "StreamWait",
	Flags: "flags", Copy: "Memcpy", Transfer: "Transfer", Join: "Join", PeerSum: "PeerSum", Nccl: "NcclCall", Gemm: "Gemm", Attend: "Attend",
	Launch: "Launch", Delay: "Delay",
}

// AccessName describes an access of a rank's operation: "writes C of rank 1 [0, 512)".
func (p *Program) AccessName(rank int32, a Access) string {
	verb := "reads"
	if a.Write {
		verb = "writes"
	}
	text := verb + " " + p.Memories[a.Memory].Name
	if a.Owner != rank {
		text += fmt.Sprintf(" of rank %d", a.Owner)
	}
	l := p.Layouts[a.Layout]
	if p.Memories[a.Memory].Bytes == 0 {
		return text
	}
	text += fmt.Sprintf(" [%d, %d)", a.Offset, a.Offset+l.Span)
	if !l.Dense() {
		text += fmt.Sprintf(" as %v by %v", l.Extents, l.Strides)
	}
	return text
}

// FlagName returns the name of a flag: "P_ipc ready[1] of rank 0".
func (p *Program) FlagName(owner, flag int32) string {
	for i := range p.Shares {
		s := &p.Shares[i]
		switch at := flag - s.FirstFlag; {
		case at < 0 || at >= 2*s.Transfers:
		case at < s.Transfers:
			return fmt.Sprintf("%s ready[%d] of rank %d", s.Declared.Name, at, owner)
		default:
			return fmt.Sprintf("%s done[%d] of rank %d", s.Declared.Name, at-s.Transfers, owner)
		}
	}
	return fmt.Sprintf("flag %d of rank %d", flag, owner)
}

func (p *Program) partName(part Part) string {
	text := "with"
	if call, ok := p.Stmts[part.Stmt].(*calls.NcclCall); ok {
		text = call.Kind
	}
	if part.Kind == issue.Collective {
		text += fmt.Sprintf(" over %v", p.Comms()[part.Comm].Ranks)
	} else {
		text += fmt.Sprintf(" rank %d", part.Peer)
	}
	if part.Root >= 0 {
		text += fmt.Sprintf(" root %d", part.Root)
	}
	return text + fmt.Sprintf(" of %d", part.Count)
}
