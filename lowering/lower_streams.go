package lowering

import (
	"slices"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/internal/expr"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// LowerStreams gives every result its buffer and turns operations whose results
// have a Stream axis into a pipeline: one iteration per slice of the axis, on
// worker streams in turn. Neighbours on the same axis share a pipeline. All workers
// wait for the caller's stream in a loop of their own: in the work loop that wait
// would inherit the joins of the iterations before, and the pipeline would be serial.
//
// Requires: every statement is local or one movement of data; layouts are final.
// Establishes: no result of a statement has an axis of kind Stream; every buffer is
// allocated before its first use; the caller's stream is current at the end.
//
//	before: C = Unary(relu, A)                                      C [Stream(S), M]
//	after:  caller = GetCurrentStream; C = Allocate; For s: (fork); For s: (select, C_s = Unary(relu, A_s), join)
func LowerStreams(p *hostir.Program) error {
	if isLowered(p.Body) {
		return nil
	}
	l := &streamLowering{program: p, names: newNamer(p)}
	groups := l.group(p.Body)
	if slices.ContainsFunc(groups, func(g group) bool { return g.axis != nil }) {
		l.caller, l.loop = l.names.fresh("caller"), l.names.fresh("s")
		l.emit(&hostir.GetCurrentStream{Info: info(p.Body[0], ""), Var: l.caller})
	}
	for _, g := range groups {
		l.lower(g)
	}
	if l.errors.Len() == 0 {
		p.Body = l.body
	}
	return l.errors.Err()
}

// isLowered reports whether buffers are allocated already: then streams are, too.
func isLowered(body []hostir.Stmt) bool {
	found := false
	hostir.Walk(body, func(s hostir.Stmt) bool {
		_, isAllocate := s.(*hostir.Allocate)
		found = found || isAllocate
		return !found
	})
	return found
}

// group is a run of statements: one pipeline, or one statement outside of any.
type group struct {
	axis       *domain.Axis // the Stream axis; nil outside of pipelines
	statements []hostir.Stmt
}

type streamLowering struct {
	program      *hostir.Program
	names        *namer
	errors       diag.List
	caller, loop string
	body         []hostir.Stmt
}

func (l *streamLowering) emit(s hostir.Stmt) { l.body = append(l.body, s) }

// group cuts the statements into pipelines. A statement joins the pipeline before
// it when it steps along the same number of slices and takes what that pipeline
// makes slice by slice.
func (l *streamLowering) group(body []hostir.Stmt) []group {
	var groups []group
	made := map[*hostir.Tensor]int{} // result -> its group
	for _, s := range body {
		out := hostir.Result(s)
		var axis *domain.Axis
		if out != nil && l.streamable(s, out) {
			axis = &out.Axes[streamAxis(out)]
		}
		last := len(groups) - 1
		if last >= 0 && axis != nil && groups[last].axis != nil &&
			groups[last].axis.Extent.Size == axis.Extent.Size && slicewise(s, out, made, last) {
			groups[last].statements = append(groups[last].statements, s)
		} else {
			groups = append(groups, group{axis, []hostir.Stmt{s}})
			last++
		}
		made[out] = last
	}
	return groups
}

// slicewise reports whether s takes every operand that group made one slice at a
// time.
func slicewise(s hostir.Stmt, out *hostir.Tensor, made map[*hostir.Tensor]int, group int) bool {
	stream, rows := streamAxis(out), hostir.AxisMap(s)
	for i, t := range hostir.Uses(s) {
		if g, ok := made[t]; ok && g == group && slices.Index(rows[i], stream) != streamAxis(t) {
			return false
		}
	}
	return true
}

// streamable reports whether a statement is pipelined, and complains where its
// Stream axis cannot be.
func (l *streamLowering) streamable(s hostir.Stmt, out *hostir.Tensor) bool {
	axis := streamAxis(out)
	if axis < 0 {
		return false
	}
	complain := func(format string, args ...any) bool {
		l.errors.Add(s.Meta().Pos, diag.NotLowerable, format, args...).AddNote(out.Pos, "%s is declared here", out.Name)
		return false
	}
	for _, a := range out.Axes[axis+1:] {
		if a.Kind == domain.Stream {
			return complain("%s has two Stream axes: a pipeline runs along one", out.Name)
		}
	}
	rows := hostir.AxisMap(s)
	switch s.(type) {
	case *hostir.Matmul, *hostir.Linear:
		if slices.Index(rows[0], axis) < 0 {
			return complain("the Stream axis of %s runs along the columns of %s: a pipeline takes rows",
				out.Name, hostir.Uses(s)[1].Name)
		}
	}
	for i, t := range hostir.Uses(s) {
		if j := slices.Index(rows[i], axis); j >= 0 && t.Axes[j].Kind == domain.Device {
			return complain("%s is split over mesh axis %s along the Stream axis of %s: "+
				"the collective pipeline streams along an axis that is not split",
				t.Name, t.Axes[j].Mesh, out.Name)
		}
	}
	return true
}

func (l *streamLowering) lower(g group) {
	for _, s := range g.statements {
		out := hostir.Result(s)
		if out == nil {
			continue
		}
		if g.axis != nil && out.Role == hostir.View {
			out.Role = hostir.Temp // its slices are made one by one, in a buffer
		}
		if out.Role != hostir.View {
			l.emit(&hostir.Allocate{Info: info(s, ""), Tensor: out})
		}
	}
	if g.axis == nil {
		l.emit(g.statements[0])
		return
	}
	l.forks(g)
	l.work(g)
}

// forks makes every worker wait for the caller's stream.
func (l *streamLowering) forks(g group) {
	first := g.statements[0]
	l.emit(&hostir.For{
		Info: info(first, "every worker waits for the caller, before the work: there the wait would inherit earlier joins"),
		Var:  l.loop, Count: g.axis.Extent,
		Body: []hostir.Stmt{
			&hostir.SetCurrentStream{Info: info(first, ""), Stream: l.worker()},
			&hostir.Synchronize{Info: info(first, ""), Stream: l.callerRef()},
		},
	})
}

// work runs the statements slice by slice and joins the caller's stream.
func (l *streamLowering) work(g group) {
	first, last := g.statements[0], g.statements[len(g.statements)-1]
	slicer := &slicer{lowering: l, slices: map[sliceKey]*hostir.Tensor{}}
	slicer.body = []hostir.Stmt{&hostir.SetCurrentStream{Info: info(first, ""), Stream: l.worker()}}
	for _, s := range g.statements {
		slicer.statement(s)
	}
	slicer.body = append(slicer.body,
		&hostir.SetCurrentStream{Info: info(last, ""), Stream: l.callerRef()},
		&hostir.Synchronize{Info: info(last, "the caller waits for this iteration"), Stream: l.worker()})
	l.emit(&hostir.For{Info: info(first, ""), Var: l.loop, Count: g.axis.Extent, Body: slicer.body})
}

func (l *streamLowering) worker() hostir.StreamRef {
	return hostir.StreamRef{Index: &expr.Binary{
		Op: "%", X: expr.Var(l.loop), Y: expr.Int(l.program.Streams),
	}}
}

func (l *streamLowering) callerRef() hostir.StreamRef { return hostir.StreamRef{Var: l.caller} }

func info(s hostir.Stmt, note string) hostir.Info {
	return hostir.Info{Pos: s.Meta().Pos, Note: note}
}
