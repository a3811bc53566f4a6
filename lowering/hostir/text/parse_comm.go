package text

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

var backends = []hostir.Backend{hostir.NCCL, hostir.IPCGet, hostir.IPCPut}

// backend takes ", NCCL", if it comes next.
func (p *parser) backend() hostir.Backend {
	at := p.at
	if !p.accept(",") {
		return hostir.None
	}
	if p.peek() == "of" {
		p.at = at
		return hostir.None
	}
	at = p.at
	word := p.spelling("a backend")
	if !slices.Contains(backends, hostir.Backend(word)) {
		p.failAt(at, "%q is no backend", word)
	}
	return hostir.Backend(word)
}

// of takes ", of A", if it comes next: what the schedule calls a communication.
func (p *parser) of() string {
	if !p.accept(",") {
		return ""
	}
	p.keyword("of")
	return p.name("a communication")
}

var commTypes = []hostir.CommType{
	hostir.Allgather, hostir.Gather, hostir.Scatter, hostir.Reduction, hostir.Allreduce, hostir.ReduceScatter, hostir.BroadcastComm, hostir.SendRecv, hostir.AllToAll,
}

func (p *parser) communication(op, handle string) hostir.Stmt {
	if op == "P2PCommunication" {
		return p.p2p(handle)
	}
	at := p.at
	s := &hostir.Communication{Handle: handle, Type: hostir.CommType(p.name("a type of communication"))}
	if !slices.Contains(commTypes, s.Type) {
		p.failAt(at, "%q is no type of communication", s.Type)
	}
	p.expect(",")
	p.keyword("mesh")
	s.Mesh = p.mesh()
	if p.acceptWord("axis") {
		s.MeshAxis = p.name("a mesh axis")
	}
	p.expect(",")
	if p.acceptWord("root") {
		s.Root = p.expression(",")
		p.expect(",")
	}
	if p.acceptWord("reduce") {
		s.ReduceFn = p.name("a function")
		p.expect(",")
	}
	p.keyword("in")
	s.In = p.tensor()
	p.expect(",")
	p.keyword("out")
	s.Out = p.tensor()
	s.Backend = p.backend()
	s.Of = p.of()
	return s
}

func (p *parser) p2p(handle string) hostir.Stmt {
	at := p.at
	direction := p.name("send or recv")
	s := &hostir.P2PCommunication{Handle: handle, Send: direction == "send"}
	if direction != "send" && direction != "recv" {
		p.failAt(at, "%q is neither send nor recv", direction)
	}
	p.expect(",")
	p.keyword("buffer")
	s.Buffer = p.tensor()
	p.expect(",")
	p.keyword("peer")
	s.Peer = p.expression(",)")
	if s.Backend = p.backend(); s.Backend != hostir.None {
		s.Locality = p.locality()
	}
	s.Of = p.of()
	return s
}

// locality takes "intra-node" or "inter-node", if it comes next.
func (p *parser) locality() hostir.Locality {
	for _, locality := range []hostir.Locality{hostir.IntraNode, hostir.InterNode} {
		if p.acceptSpelling(string(locality)) {
			return locality
		}
	}
	return hostir.AnyNode
}
