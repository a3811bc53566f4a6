// Package issue goes through a program of calls as the host of each rank does. It runs loops, takes branches, and
// defines pointers and numbers. It resolves the streams, events, flags, pointers and ranks that statements mention. The
// prover, the interpreter, the verifier and some passes use it to visit all other statements.
package issue

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// World contains the declarations of a program, with the values that all ranks have in common. Streams, memories,
// events, flags and communicators have the same numbers on all ranks.
type World struct {
	Calls    *calls.Program
	Nodes    []int    // by rank: the number of its node; nil: all ranks are on one node
	Size     int32    // number of ranks
	Streams  []string // names: "caller", "copy", "compute[0]", "x_.stream"
	Memories []Memory
	Spans    []*Span // one for each memory, and one for each buffer in another memory
	Shares   []Share
	Events   int32 // number of events
	// KernelsCount: a BeginCall counts the calls of the shares in its Counts. If it is false, each BeginCall counts its own call.
	// New sets it if some BeginCall has Counts. In a finished program that is captured as a CUDA graph it is always true.
	KernelsCount bool
	comms        []Comm

	scope      *scope
	meshes     map[string]*mesh
	guards     map[string][]bool  // by guard and world rank: whether the guard includes the rank
	teams      map[string][]int32 // by team and world rank: number of the communicator; -1: none. nil: not computed so far
	streams    map[string]int16
	computes   []int16          // numbers of compute streams, by index; 0: not numbered so far
	carriers   map[string]int16 // numbers of the teams' streams, by team
	memories   map[string]int32 // numbers of memories, by the name that a pointer has as its base
	spans      map[string]*Span // by the same names
	events     map[string]events
	shares     map[string]int32
	workspaces int32 // number of the memory for the workspace of the caller's stream; those of the compute streams follow
}

// events holds the numbers of the events of a set: count numbers, from first on.
type events struct{ first, count int32 }

// Caller is the number of the caller's stream.
const Caller = 0

// New prepares to issue a program. nodes[r] is the node of rank r; nil: all ranks are on one node.
func New(p *calls.Program, nodes []int) *World {
	w := &World{
		Calls: p, Nodes: nodes, scope: newScope(p), meshes: map[string]*mesh{}, guards: map[string][]bool{}, streams: map[string]int16{},
		computes: make([]int16, p.Streams), carriers: map[string]int16{}, memories: map[string]int32{}, spans: map[string]*Span{},
		events: map[string]events{}, shares: map[string]int32{},
	}
	w.declareMeshes()
	w.stream(calls.Caller)
	w.stream(calls.Copies)
	for _, d := range p.Events {
		n := int32(w.Constant(d.Count))
		w.events[d.Name] = events{w.Events, n}
		w.Events += n
	}
	w.declareMemories()
	for s := range calls.Each[*calls.BeginCall](p.Body) {
		w.KernelsCount = w.KernelsCount || len(s.Counts) > 0
	}
	return w
}

// stream returns the number of a stream with a name, and numbers the stream on first use.
func (w *World) stream(name string) int16 {
	n, ok := w.streams[name]
	if !ok {
		n = int16(len(w.Streams))
		w.streams[name] = n
		w.Streams = append(w.Streams, name)
	}
	return n
}

// compute returns the number of a compute stream.
func (w *World) compute(n int64) int16 {
	if n < 0 || n >= int64(len(w.computes)) {
		return w.stream(fmt.Sprintf("compute[%d]", n))
	}
	if w.computes[n] == 0 {
		w.computes[n] = w.stream(fmt.Sprintf("compute[%d]", n))
	}
	return w.computes[n]
}

// IsCompute reports whether a stream is a compute stream.
func (w *World) IsCompute(stream int16) bool {
	return stream != Caller && slices.Contains(w.computes, stream)
}

// carrier returns the number of a team's stream. It numbers the stream on first use.
func (w *World) carrier(on calls.Stream) int16 {
	n, ok := w.carriers[on.Name]
	if !ok {
		n = w.stream(on.String())
		w.carriers[on.Name] = n
	}
	return n
}

// Constant evaluates an expression that is the same on all ranks. It returns 0 if the expression has no value.
func (w *World) Constant(e expr.Expr) int64 {
	if e == nil {
		return 0
	}
	v, ok := w.scope.compile(e).eval(nil)
	if !ok {
		return 0
	}
	return v
}

// Fixed reports whether the form of an expression shows that it has the same value on all ranks and in all iterations.
func (w *World) Fixed(e expr.Expr) bool { return e == nil || w.scope.compile(e).op == 'k' }

// node returns the node of a rank.
func (w *World) node(rank int32) int {
	if w.Nodes == nil {
		return 0
	}
	return w.Nodes[rank]
}
