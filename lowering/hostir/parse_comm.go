package hostir

import (
	"slices"
	"strings"
)

var backends = []Backend{NCCL, IPCGet, IPCPut}

// backend takes ", NCCL", if it comes next.
func (p *parser) backend() Backend {
	if !p.accept(",") {
		return None
	}
	at := p.at
	word := p.spelling("a backend")
	if !slices.Contains(backends, Backend(word)) {
		p.failAt(at, "%q is no backend", word)
	}
	return Backend(word)
}

var commTypes = []CommType{
	Allgather, Gather, Scatter, Reduction, Allreduce, ReduceScatter, BroadcastComm, SendRecv, AllToAll,
}

func (p *parser) communication(op, handle string) Stmt {
	if op == "P2PCommunication" {
		return p.p2p(handle)
	}
	at := p.at
	s := &Communication{Handle: handle, Type: CommType(p.name("a type of communication"))}
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
	return s
}

func (p *parser) p2p(handle string) Stmt {
	at := p.at
	direction := p.name("send or recv")
	s := &P2PCommunication{Handle: handle, Send: direction == "send"}
	if direction != "send" && direction != "recv" {
		p.failAt(at, "%q is neither send nor recv", direction)
	}
	p.expect(",")
	p.keyword("buffer")
	s.Buffer = p.tensor()
	p.expect(",")
	p.keyword("peer")
	s.Peer = p.expression(",)")
	if s.Backend = p.backend(); s.Backend != None {
		s.Reach = p.reach()
	}
	return s
}

// reach takes "within hosts" or "between hosts", if it comes next.
func (p *parser) reach() Reach {
	for _, reach := range []Reach{WithinHosts, BetweenHosts} {
		where, hosts, _ := strings.Cut(string(reach), " ")
		if p.acceptWord(where) {
			p.keyword(hosts)
			return reach
		}
	}
	return Anywhere
}
