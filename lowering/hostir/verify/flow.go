package verify

import (
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// flow checks a program along its paths. At the end of a branch or loop body it undoes the facts that do not outlive the body.
// The log makes the cost of undoing proportional to the number of changed facts.
type flow struct {
	*verifier
	facts     map[fact]bool
	log       []change
	base      map[*hostir.Tensor]*hostir.Tensor // view that a statement made -> its buffer
	group     *hostir.StartCoalescing           // the open group
	loops     []*hostir.For                     // the enclosing loops
	started   map[string][]*hostir.For          // handle -> the loops in which it was started
	shares    map[string]*hostir.Exchange       // by handle
	indexed   map[viewAt]bool                   // views whose expressions are checked
	frees     bool                              // allocated buffers have to be freed
	allocates map[*hostir.Tensor]diag.Pos       // positions of allocations
	earlier   []earlierWait                     // waits for earlier iterations of the current outermost loop
}

func (v *verifier) flow() {
	f := &flow{
		verifier: v, facts: map[fact]bool{}, started: map[string][]*hostir.For{},
		base: map[*hostir.Tensor]*hostir.Tensor{}, frees: freesAll(v.program), allocates: map[*hostir.Tensor]diag.Pos{},
		shares: hostir.Exchanges(v.program), indexed: map[viewAt]bool{},
	}
	f.block(v.program.Body)
	f.leaked(0, "%s is allocated and never freed")
	for _, p := range f.pending(0) {
		f.breachAt(f.position(v.program.Body), "wait", "%s is started and not waited for", p)
	}
	for _, t := range v.program.Tensors {
		if t.Role == hostir.Output && !f.facts[fact{written, t}] {
			f.breachAt(t.Pos, "written", "output %s is never written", t.Name)
		}
	}
}

// block checks the statements of one list. A group has to end in the list that opens it.
func (f *flow) block(body []hostir.Stmt) {
	outer := f.group
	f.group = nil
	for _, s := range body {
		f.statement(s)
	}
	if f.group != nil {
		f.breach(f.group, "group", "the group is not closed in the statements where it was opened")
	}
	f.group = outer
}

func (f *flow) position(body []hostir.Stmt) diag.Pos {
	if len(body) == 0 {
		return diag.Pos{}
	}
	return body[len(body)-1].Meta().Pos
}

func (f *flow) statement(s hostir.Stmt) {
	if !hostir.Is[*hostir.P2PCommunication](s) && f.group != nil {
		switch s.(type) {
		case *hostir.Communication, *hostir.EndCoalescing:
		default:
			f.breach(s, "group", "%s stands in an open group", hostir.Op(s))
		}
	}
	f.buffers(s)
	if len(hostir.Bodies(s)) == 0 {
		f.expression(s, "the worker", s.Meta().On.Index, int64(f.program.Streams))
		if f.group != nil && !s.Meta().On.Is(f.group.On) {
			f.breach(s, "stream", "%s runs on %s in a group on %s", hostir.Op(s), s.Meta().On, f.group.On)
		}
	}
	switch s := s.(type) {
	case *hostir.For:
		f.loop(s)
	case *hostir.If:
		f.branch(s)
	case *hostir.PeerReadSum:
		f.sum(s)
	case *hostir.Synchronize:
		f.expression(s, "the worker", s.Stream.Index, int64(f.program.Streams))
	case *hostir.Wait:
		f.wait(s)
	default:
		f.transfers(s)
	}
}

// transfers checks communications and the boundaries of groups.
func (f *flow) transfers(s hostir.Stmt) {
	switch s := s.(type) {
	case *hostir.StartCoalescing:
		f.group = s
	case *hostir.EndCoalescing:
		if f.group == nil {
			f.breach(s, "group", "no group is open")
		}
		f.start(s.Handle)
		f.group = nil
	case *hostir.Communication:
		f.expression(s, "the root", s.Root, int64(len(s.Mesh.Ranks)))
		f.carried(s, s.Handle, s.Backend, s.Backend.Carries(s.Type))
		if f.group == nil {
			f.start(s.Handle)
		}
	case *hostir.P2PCommunication:
		world := f.bounds.names["rank"].high + 1
		f.expressionOn(s, s.Buffer.Mesh, "the peer", s.Peer, world)
		f.teammate(s)
		f.carried(s, s.Handle, s.Backend, s.Backend.Row().Pairs)
		if f.group == nil {
			f.start(s.Handle)
		}
	}
}

// carried checks that a backend can carry a communication. Only NCCL has groups.
func (f *flow) carried(s hostir.Stmt, handle string, by hostir.Backend, can bool) {
	if by != hostir.None && (!can || f.group != nil && by != hostir.NCCL) {
		f.breach(s, "group", "%s does not carry %s here", by, handle)
	}
}

// indices checks the expressions of a view in the current loops.
func (f *flow) indices(t *hostir.Tensor) {
	at := viewAt{view: t}
	if n := len(f.loops); n > 0 {
		at.loop = f.loops[n-1]
	}
	if f.indexed[at] {
		return
	}
	f.indexed[at] = true
	switch s := t.Of.(type) {
	case *hostir.Either:
		f.expression(s, "the condition", s.Cond, 1<<62)
	case *hostir.Select:
		if s.Axis < len(s.In.Axes) {
			f.expressionOn(s, s.In.Mesh, "the index", s.Index, s.Indices())
			f.localPart(s)
		}
	}
}

// viewAt is a view that is used in a loop; loop is the innermost one, or nil outside of loops.
type viewAt struct {
	view *hostir.Tensor
	loop *hostir.For
}

// expression checks that the names in an expression have values, and that its value is between 0 and limit-1. It ignores nil.
func (f *flow) expression(s hostir.Stmt, what string, e expr.Expr, limit int64) {
	if e == nil {
		return
	}
	value, unknown := f.bounds.of(e)
	switch {
	case unknown != "":
		f.breach(s, "scope", "%s %s uses %s, which has no value here", what, e, unknown)
	case value.low < 0 || value.high >= limit:
		f.breach(s, "range", "%s %s takes values from %d to %d; it must be between 0 and %d",
			what, e, value.low, value.high, limit-1)
	}
}

// expressionOn is expression for the ranks of a mesh. If the interval over all ranks is too wide, it evaluates the expression for
// each rank and iteration, unless these are too many.
func (f *flow) expressionOn(s hostir.Stmt, mesh *domain.Mesh, what string, e expr.Expr, limit int64) {
	if mesh != nil && len(mesh.Ranks) > 0 && e != nil {
		inside := true
		value, unknown := f.bounds.of(e)
		if unknown == "" && (value.low < 0 || value.high >= limit) && f.bounds.each(e, mesh.Ranks, func(_ int, value int64) bool {
			inside = value >= 0 && value < limit
			return inside
		}) && inside {
			return
		}
	}
	f.expression(s, what, e, limit)
}

// teammate checks that the peers of a transfer over CUDA IPC are among the ranks that share memory through its ShareMemHandles.
func (f *flow) teammate(s *hostir.P2PCommunication) {
	e := f.shares[s.Handle]
	if e == nil || e.Shared.Mesh == nil || e.Shared.Mesh.Axis(e.Shared.MeshAxis) == nil || s.Buffer.Mesh == nil {
		return
	}
	f.bounds.each(s.Peer, s.Buffer.Mesh.Ranks, func(rank int, peer int64) bool {
		joined := e.Shared.Joins(rank, int(peer))
		if !joined {
			f.breach(s, "shared", "%s of rank %d is with rank %d, which is not along axis %s of mesh %s",
				s.Handle, rank, peer, e.Shared.MeshAxis, e.Shared.Mesh.Name)
		}
		return joined
	})
}
