// Package verify checks rules that every program of calls has to keep.
package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/issue"
	"github.com/hirgen/hirgen/calls/order"
	"github.com/hirgen/hirgen/calls/text"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/expr"
)

// Program checks that a program keeps these rules:
//   - The events, shares, teams, meshes, guards, labels, shapes, attentions and kernels that statements name are
//     declared. A Shape equals the Shape that its Like names, except for Name, Like, Plan and Label.
//   - Parts of groups, batches, exchanges and sums are inside them.
//   - On every rank, a wait for an event follows a record of the event.
//   - On every rank, the caller's stream has waited for the work of all other streams at the end of a call. Without a
//     CUDA graph, writes of flags are an exception.
//   - Every flag that is waited for is written once, and every flag that is written is waited for.
//   - Buffers with common bytes are used one after the other, or one is written over the other in place.
//   - The host steps around the calls match the emitted class and the runtime.
//
// The error is a *diag.Errors.
func Program(p *calls.Program) error {
	v := &verifier{program: p, said: map[string]bool{}}
	v.names()
	v.nesting(p.Body, "", false, "")
	if v.errors.Len() > 0 {
		return v.errors.Err() // the following checks need declared names and correct nesting
	}
	o := order.New(p)
	o.Finish = v.finished
	o.Unrecorded = func(w *calls.StreamWait, rank int64) {
		v.fail(w, "the event was not recorded before in this call, on rank %d", rank)
	}
	for _, o.Spread = range []order.Spread{order.OneNode, order.ManyNodes} {
		o.RunAll()
	}
	v.flags()
	v.memory()
	v.life()
	return v.errors.Err()
}

type verifier struct {
	program *calls.Program
	errors  diag.List
	said    map[string]bool
}

// fail reports an error in a statement.
func (v *verifier) fail(s calls.Stmt, format string, args ...any) {
	v.report(s.Meta().Pos, text.Statement(s)+": "+fmt.Sprintf(format, args...))
}

// buffer reports an error in a buffer.
func (v *verifier) buffer(b *calls.Buffer, format string, args ...any) {
	v.report(diag.Pos{File: v.program.File}, b.Where+": "+b.Name+": "+fmt.Sprintf(format, args...))
}

// report adds an error, unless the same error was reported before.
func (v *verifier) report(pos diag.Pos, message string) {
	if key := fmt.Sprint(pos, message); !v.said[key] {
		v.said[key] = true
		v.errors.Add(pos, diag.HostIRInvalid, "calls: %s", message)
	}
}

// names checks that everything that statements, shapes and shares name is declared, except pointers, streams and
// numbers.
func (v *verifier) names() {
	known := map[string]map[string]bool{}
	for _, kind := range []string{"event", "share", "team", "guard", "mesh", "label", "shape", "attention"} {
		known[kind] = map[string]bool{}
	}
	for _, d := range v.program.Declarations() {
		kind := strings.TrimSuffix(strings.ToLower(calls.Op(d)), "s")
		if name, ok := calls.Fields(d)[0].Value.(*string); ok && known[kind] != nil {
			known[kind][*name] = true
		}
	}
	known["from"], known["to"] = known["mesh"], known["mesh"]
	shapes := calls.ByName(v.program.Shapes)
	for _, d := range v.program.Shapes {
		if like := shapes[d.Like]; d.Like != "" && (like == nil || like.Like != "" || !d.Alike(like)) {
			v.report(diag.Pos{File: v.program.File}, d.Name+": it is not like "+d.Like)
		}
	}
	arguments, buffers := calls.ByName(v.program.Arguments), calls.ByName(v.program.Buffers)
	for _, d := range v.program.Shares {
		if arguments[d.Memory] == nil && buffers[d.Memory] == nil {
			v.report(diag.Pos{File: v.program.File}, d.Name+": no memory is called "+d.Memory)
		}
	}
	for s := range calls.All(v.program.Body) {
		check := func(key, name string) {
			if list, ok := known[key]; ok && !list[name] {
				v.fail(s, "no %s is called %s", key, name)
			}
		}
		if l, ok := s.(*calls.Launch); ok && l.Own() {
			if k := v.program.Kernel(l); k == nil || len(k.Operands) != 1+len(l.In) || k.Steps() == nil {
				v.fail(s, "no kernel of %d operands is called %s", len(l.In), l.Kernel)
			}
		}
		(&calls.Rewriter{Noted: check}).Rewrite(s)
		if label := s.Meta().Label; label != "" {
			check("label", label)
		}
	}
}

// copies checks a batch of copies, which one kernel runs: it has up to MostCopies copies without streams, and declarations.
func (v *verifier) copies(s *calls.MemOpBatch) {
	copies := 0
	for part := range calls.All(s.Body) {
		switch part := part.(type) {
		case *calls.Let, *calls.Declare:
		case *calls.Memcpy:
			copies++
			v.stands(part, part.On == calls.Stream{})
		default:
			v.stands(part, false)
		}
	}
	if copies > calls.MostCopies || !s.Kernel {
		v.fail(s, "%s is no kernel of up to %d copies", s.Name, calls.MostCopies)
	}
}

// nesting checks that each part is inside the group, batch, exchange or sum that it belongs to, and that nothing else
// is inside.
func (v *verifier) nesting(body []calls.Stmt, batch string, grouped bool, sum string) {
	for _, s := range body {
		switch s := s.(type) {
		case *calls.For:
			v.nesting(s.Body, batch, grouped, sum)
		case *calls.If:
			v.nesting(s.Body, batch, grouped, sum)
			v.nesting(s.Else, batch, grouped, sum)
		case *calls.Let, *calls.Declare:
		case *calls.MemOpBatch:
			v.nesting(s.Body, s.Name, false, "")
			for part := range calls.All(s.Body) {
				v.stands(part, (s.Use == "copy" || !calls.Is[*calls.Transfer](part)) && (s.Use == "memcpy" || !calls.Is[*calls.Memcpy](part)))
			}
			if s.Use == "memcpy" {
				v.copies(s)
			}
		case *calls.RowExchange:
			v.stands(s, batch == "" && !grouped && sum == "")
			v.nesting(s.Body, s.Name, false, "")
			v.exchange(s)
		case *calls.NcclGroup:
			v.nesting(s.Body, "", true, "")
		case *calls.PeerSum:
			v.nesting(s.Body, "", false, s.Name)
		case *calls.NcclCall:
			v.stands(s, s.Grouped == grouped && batch == "" && sum == "")
		case *calls.PeerPart:
			v.stands(s, s.Sum == sum)
		case *calls.Memcpy:
			v.stands(s, s.Batch == batch && !grouped && sum == "")
		case *calls.Launch:
			v.stands(s, s.Batch == batch && !grouped && sum == "")
		case *calls.FlagWrite:
			v.stands(s, s.Batch == batch && !grouped && sum == "")
		case *calls.FlagWait:
			v.stands(s, s.Batch == batch && !grouped && sum == "")
		case *calls.Transfer:
			v.stands(s, s.Batch == batch && !grouped && sum == "")
		default:
			v.stands(s, batch == "" && !grouped && sum == "")
		}
	}
}

// exchange checks a RowExchange. Its copies have the size and the type of its rows. It has at most one kernel, which
// computes these rows and is the last statement, and at most one Memcpy of the local rows.
func (v *verifier) exchange(x *calls.RowExchange) {
	values, keeps := v.program.Values(), 0
	of := func(e expr.Expr) int64 { n, _ := values.Eval(e); return n }
	for keep := range calls.Each[*calls.Memcpy](x.Body) {
		if keeps++; of(keep.Elements) != of(x.Rows)*of(x.Row) || keep.Type != x.Type {
			v.fail(keep, "it copies other rows than the exchange has")
		}
	}
	for send := range calls.Each[*calls.Transfer](x.Body) {
		if of(send.Elements) != of(x.Rows)*of(x.Row) || send.Type != x.Type || send.Share != x.Share {
			v.fail(send, "it copies other rows than the exchange has")
		}
	}
	if x.Label == "" {
		v.fail(x, "it has no label for its errors")
	}
	launches := slices.Collect(calls.Each[*calls.Launch](x.Body))
	l := x.Launch()
	if keeps > 1 || len(launches) > 1 || len(launches) == 1 && l == nil {
		v.fail(x, "it copies its own part once at most, and ends with its only kernel")
		return
	}
	if l == nil {
		return
	}
	if k := v.program.Kernel(l); k == nil || k.Arrives == nil || k.Views || k.Columns != of(x.Row) || of(l.Elements) != of(x.Rows) {
		v.fail(l, "the kernel has other rows than the exchange")
	}
}

func (v *verifier) stands(s calls.Stmt, well bool) {
	if !well {
		v.fail(s, "it is no part of what it stands in, or stands outside of what it is a part of")
	}
}

// finished checks that the caller's stream is ordered after all other streams at the end of a call.
func (v *verifier) finished(o *order.Ordering) {
	caller := o.CallersClock()
	for _, name := range slices.Sorted(maps.Keys(o.Streams)) {
		if n := o.Streams[name]; !caller.Covers(o.Joined[n]) {
			v.report(diag.Pos{File: v.program.File},
				fmt.Sprintf("at the end of a call on rank %d the caller's stream is not behind stream %s", o.Rank, name))
		}
	}
}

// pairing counts the writes and waits of a flag in a call.
type pairing struct {
	writes, waits int
	stmt          calls.Stmt
}

// flags checks that each flag has one write and at least one wait, as if all ranks shared memory.
func (v *verifier) flags() {
	found := map[string]*pairing{}
	var keys []string
	note := func(s calls.Stmt, key string, writes, waits int) {
		if found[key] == nil {
			found[key] = &pairing{stmt: s}
			keys = append(keys, key)
		}
		found[key].writes += writes
		found[key].waits += waits
	}
	w := issue.New(v.program, nil)
	for _, rank := range v.program.Ranks() {
		f := &flagIssue{w.Rank(int32(rank)), note}
		f.Run(v.program.Body, f.visit)
	}
	for _, key := range keys {
		switch p := found[key]; {
		case p.writes > 1:
			v.fail(p.stmt, "flag %s is written %d times in a call", key, p.writes)
		case p.writes == 0:
			v.fail(p.stmt, "nobody writes flag %s", key)
		case p.waits == 0:
			v.fail(p.stmt, "nobody waits for flag %s", key)
		}
	}
}

// flagIssue issues the program on one rank, and calls note for each flag operation.
type flagIssue struct {
	*issue.Rank
	note func(s calls.Stmt, key string, writes, waits int)
}

func (f *flagIssue) visit(s calls.Stmt) {
	switch s := s.(type) {
	case *calls.FlagWrite:
		f.signal(s, s.Flag, s.Peer)
	case *calls.FlagWait:
		f.signal(s, s.Flag, nil)
	case *calls.Transfer:
		f.exchange(s, s.Share, s.Peer, s.Transfer)
	case *calls.PeerPart:
		f.exchange(s, s.Share, s.Peer, s.Transfer)
	}
	for _, inner := range calls.Bodies(s) {
		f.Run(*inner, f.visit)
	}
}

// exchange records a wait for the ready flag and a write of the peer's done flag.
func (f *flagIssue) exchange(s calls.Stmt, share string, peer, transfer expr.Expr) {
	f.signal(s, calls.Flag{Share: share, Transfer: transfer}, nil)
	f.signal(s, calls.Flag{Share: share, Transfer: transfer, Done: true}, peer)
}

// signal records a write of a peer's flag or, without a peer, a wait for a flag of this rank.
func (f *flagIssue) signal(s calls.Stmt, flag calls.Flag, peer expr.Expr) {
	owner, kind := int64(f.Number), "ready"
	if peer != nil {
		owner, _ = f.Value(s, peer)
	}
	if flag.Done {
		kind = "done"
	}
	i, _ := f.Value(s, flag.Transfer)
	key := strings.TrimSpace(fmt.Sprintf("%s %s[%d] of rank %d", flag.Share, kind, i, owner))
	if peer != nil {
		f.note(s, key, 1, 0)
	} else {
		f.note(s, key, 0, 1)
	}
}
