package prove

import (
	"fmt"

	"github.com/hirgen/hirgen/prove/unroll"
)

// Severity is the meaning of a finding.
type Severity string

// The severities.
const (
	Error     Severity = "error"       // the program is wrong
	Warning   Severity = "warning"     // the program is correct if the GPU runs everything at once that its streams allow
	Undecided Severity = "not decided" // the program may be wrong
)

// Finding is one error, or possible error.
type Finding struct {
	Check    Check    `json:"check"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`            // one sentence without a final stop
	At       []Place  `json:"at,omitempty"`       // the operations or steps that it is about
	Buffer   *Bytes   `json:"buffer,omitempty"`   // its memory; nil: none
	Missing  string   `json:"missing,omitempty"`  // what would fix the error: an edge, a statement or a step; may be empty
	Chains   []Chain  `json:"chains,omitempty"`   // operations or steps in At, with the operations or steps before and after them
	Layout   string   `json:"layout,omitempty"`   // the assignment of ranks to nodes, if it matters
	Internal bool     `json:"internal,omitempty"` // it is a mistake in hirgen, which says nothing about the program
}

// Place is an operation of a rank in a call, or a step of its host.
type Place struct {
	Rank      int32  `json:"rank"`
	Stream    string `json:"stream"`
	Call      int32  `json:"call"` // from 1; 0: a step of the host
	Spec      string `json:"spec,omitempty"`
	Operation string `json:"operation"`
	Why       string `json:"why,omitempty"` // why it waits for the next place in Finding.At
}

// Bytes is a range of a rank's memory: the bytes from First up to End, which is not included.
type Bytes struct {
	Name  string `json:"name"`
	Rank  int32  `json:"rank"`
	First int64  `json:"first"`
	End   int64  `json:"end"`
}

// Chain is an operation on its stream with the nearest operations that order it, or a step of a host with the adjacent steps.
type Chain struct {
	Title string   `json:"title"` // "rank 0, compute[1], call 1"
	Steps []string `json:"steps"`
	Here  int      `json:"here"` // index in Steps of the finding's operation
}

// place describes an operation.
func place(p *unroll.Program, rank, op, call int32) Place {
	o := &p.Ranks[rank].Ops[op]
	at := Place{Rank: rank, Stream: p.Streams[o.Stream], Call: call + 1, Operation: p.Title(o)}
	if o.Stmt >= 0 {
		at.Spec = spec(p, o.Stmt)
	}
	return at
}

// spec returns the position of a statement in the spec, such as "spec.yaml:13:5", or the file if it has no position.
func spec(p *unroll.Program, stmt int32) string {
	if stmt < 0 {
		return p.Calls.File
	}
	pos := p.Stmts[stmt].Meta().Pos
	if pos.Line == 0 {
		return p.Calls.File
	}
	return fmt.Sprintf("%s:%d:%d", p.Calls.File, pos.Line, pos.Col)
}

// around returns the chain of an operation. verb follows the name of the operation.
func around(p *unroll.Program, rank, op, call int32, verb string) Chain {
	r := &p.Ranks[rank]
	o := &r.Ops[op]
	c := Chain{Title: fmt.Sprintf("rank %d, %s, call %d", rank, p.Streams[o.Stream], call+1)}
	if before := nearest(r, op, -1); before >= 0 {
		c.Steps = append(c.Steps, p.Title(&r.Ops[before]))
	}
	c.Here = len(c.Steps)
	c.Steps = append(c.Steps, p.Title(o)+" "+verb)
	if after := nearest(r, op, 1); after >= 0 {
		c.Steps = append(c.Steps, p.Title(&r.Ops[after]))
	}
	return c
}

// nearest returns the closest operation before op (step -1) or after op (step 1) on its stream that may order it with
// operations of other streams or ranks; -1: none.
func nearest(r *unroll.Rank, op int32, step int32) int32 {
	stream := r.Ops[op].Stream
	for at := op + step; at >= 0 && int(at) < len(r.Ops); at += step {
		o := &r.Ops[at]
		if o.Stream != stream {
			continue
		}
		switch o.Kind {
		case unroll.Record, unroll.Wait, unroll.Flags, unroll.Transfer, unroll.PeerSum, unroll.Nccl, unroll.CallBegin, unroll.CallEnd:
			return at
		}
	}
	return -1
}
