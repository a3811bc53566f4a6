package streams

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/shard"
	"github.com/hirgen/hirgen/model/domain"
	"github.com/hirgen/hirgen/model/schedule"
)

// LowerStreams allocates a buffer for every result that is not a view. It turns operations on a Stream axis into a
// loop, mostly with one iteration per slice of the axis. The iterations run one after the other on the caller's stream.
// Adjacent operations with the same number of slices share a loop where possible.
//
// What an iteration does for a statement depends on the kind of its step: see stepKind.
//
// Requires: every statement is local or one transfer between ranks; layouts are final.
// Establishes: no statement in a pipeline has a result with an axis of kind Stream; every buffer is allocated
// before its first use; no list of statements contains views.
//
//	before: C = Unary(relu, A)                                      C [Stream(S), M]
//	after:  C = Allocate; caller = GetCurrentStream; For s: C_s = Unary(relu, A_s), with views C_s and A_s
func LowerStreams(p *hostir.Program) error {
	if hostir.Allocates(p) {
		return nil
	}
	l := newStreamLowering(p)
	groups := l.group(p.Body)
	if slices.ContainsFunc(groups, func(g *group) bool { return g.pipelined() }) {
		l.loop = l.names.Fresh("s")
	}
	l.nameSubChunkLoop(groups)
	for _, g := range groups {
		l.lower(g)
	}
	if l.errors.Len() == 0 {
		p.Body = hostir.MakeViews(l.body)
	}
	return l.errors.Err()
}

// modelNames returns the names of the results of the model's operations.
func modelNames(p *hostir.Program) map[string]bool {
	names := make(map[string]bool, len(p.Reference))
	for _, op := range p.Reference {
		lists.Mark(names, op.Results())
	}
	return names
}

func newStreamLowering(p *hostir.Program) *streamLowering {
	l := &streamLowering{
		program: p, names: hostir.NewNamer(p), results: modelNames(p), uses: usesIn(p.Body, madeView), uncut: map[domain.Extent]bool{},
		moves: map[hostir.Stmt]string{},
	}
	name := hostir.Communications(p)
	for _, s := range p.Body {
		if shard.Reshards(s) {
			l.moves[s] = name(s)
		}
	}
	return l
}

type streamLowering struct {
	program  *hostir.Program
	names    *hostir.Namer
	results  map[string]bool        // results of the model's operations
	moves    map[hostir.Stmt]string // statement -> the name that its communication has in the schedule
	uses     *uses
	errors   diag.List
	loop     string                  // loop variable of pipelines; empty if there are none
	subChunk string                  // loop variable over sub-chunks of loops that may be interchanged; empty if there are none
	uncut    map[domain.Extent]bool  // extents for which an error says that sub-chunks do not divide them
	summed   map[*hostir.Tensor]bool // result -> whether it is a sum of parts that ranks send each other; nil without interchange
	started  bool                    // whether start has emitted GetCurrentStream
	body     []hostir.Stmt
}

func (l *streamLowering) emit(s hostir.Stmt) { l.body = append(l.body, s) }

// lower emits the buffers for a group's results, and then the group.
func (l *streamLowering) lower(g *group) {
	if g.pipelined() {
		g.cut = l.chunk(g)
	}
	for _, st := range g.steps {
		for _, out := range hostir.Defs(st.stmt) {
			if out.Role == hostir.View && g.pipelined() && !g.keepsView(st) {
				out.Role = hostir.Temp // its slices are written to a buffer one by one
			}
			if out.Role == hostir.View {
				continue
			}
			if !l.results[out.Name] && !l.program.Choices.Exchanges() {
				l.start(st.stmt)
			}
			l.emit(&hostir.Allocate{Info: hostir.InfoFrom(st.stmt, ""), Tensor: out})
		}
	}
	if !g.pipelined() {
		l.emit(g.steps[0].stmt)
		return
	}
	l.start(g.steps[0].stmt)
	l.work(g)
}

// start emits GetCurrentStream once, if there are pipelines. lower calls it before the first pipeline. Unless ranks
// exchange slices, lower also calls it before each buffer that is not a result of the model.
func (l *streamLowering) start(s hostir.Stmt) {
	if l.loop != "" && !l.started {
		l.started = true
		l.emit(&hostir.GetCurrentStream{Info: hostir.InfoFrom(s, "")})
	}
}

// work emits a pipeline and the statements after it. If one GEMM computes all slices, the pipeline has no loop over
// slices.
func (l *streamLowering) work(g *group) {
	first := g.steps[0].stmt
	slicer := &slicer{
		lowering: l, group: g, cut: g.cut, slices: map[sliceKey]*hostir.Tensor{}, along: map[*hostir.Tensor]int{},
		parts: map[hostir.Stmt]*hostir.Tensor{},
	}
	slicer.rotate(g)
	for _, st := range g.steps {
		slicer.step(st)
	}
	if g.cut.subChunks > 1 && !g.cut.bracket {
		loop := slicer.overSubChunks(first, slicer.body...)
		if g.atOnce() {
			loop.Note = subChunkNote
		}
		slicer.body = []hostir.Stmt{loop}
	}
	if g.atOnce() {
		l.body = append(append(l.body, slicer.body...), slicer.after...)
		return
	}
	l.emit(&hostir.For{Info: hostir.InfoFrom(first, ""), Var: l.loop, First: l.firstStep(g), Count: l.steps(g), Body: slicer.body})
	l.body = append(l.body, slicer.after...)
}

// firstStep and steps return the bounds First and Count of the loop of a pipeline. If the pipeline exchanges at
// distance s and the local shard comes last, s runs from 1 to D, and distance D is the rank itself. If a GEMM takes
// several shards, s and D count blocks of shards. With steps: bracket, each iteration takes one sub-chunk, and the
// first iteration begins in the middle of the local shard.
func (l *streamLowering) firstStep(g *group) int64 {
	if g.cut.bracket {
		return g.cut.subChunks / 2
	}
	if l.localLast(g) {
		return 1
	}
	return 0
}

func (l *streamLowering) steps(g *group) domain.Extent {
	count := g.axis.Extent
	if g.cut.bracket {
		first := l.firstStep(g)
		all := expr.Op("+", expr.Op("*", expr.Int(g.cut.subChunks), count.Expr()), expr.Int(first))
		return domain.Extent{Text: expr.Compact(all), Size: g.cut.subChunks*count.Size + first}
	}
	if g.cut.width > 1 {
		count = oneOf(count, g.cut.width)
	}
	if l.localLast(g) {
		return domain.Extent{Text: expr.Compact(expr.Op("+", count.Expr(), expr.Int(1))), Size: count.Size + 1}
	}
	return count
}

func (l *streamLowering) localLast(g *group) bool {
	return l.loopChoice(g, schedule.Local) == schedule.Last && g.exchanges() && !g.isRing() && !g.atOnce()
}
