package unroll

import (
	"github.com/hirgen/hirgen/calls"
)

// nccl issues an NCCL call, or a group of NCCL calls, as one operation.
func (i *issuing) nccl(s calls.Stmt) {
	on, body := calls.Stream{}, []calls.Stmt{s}
	switch s := s.(type) {
	case *calls.NcclCall:
		on = s.On
	case *calls.NcclGroup:
		on, body = s.On, s.Body
	}
	stream, ok := i.On(s, on)
	if !ok {
		return
	}
	before := len(i.rank.Ops)
	i.begin(s, Nccl, stream).Spins = true
	i.Run(body, func(part calls.Stmt) {
		if call, ok := part.(*calls.NcclCall); ok {
			i.parts(call)
			return
		}
		i.misplaced(part)
	})
	o := &i.rank.Ops[before]
	if i.end(o); o.Parts.First == o.Parts.End {
		i.rank.Ops = i.rank.Ops[:before] // an empty group does nothing
	}
}

// parts adds this rank's parts of a call.
func (i *issuing) parts(s *calls.NcclCall) {
	for _, part := range i.Parts(s) {
		p := Part{part, i.numbers[s], -1, -1}
		if p.Stored >= 0 {
			p.Out = i.run(s, 0, true, s.Out, s.Type, p.Stored)
		}
		if p.Sent >= 0 {
			p.In = i.run(s, 1, false, s.In, s.Type, p.Sent)
		}
		i.rank.Parts = append(i.rank.Parts, p)
	}
}
