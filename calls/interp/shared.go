package interp

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/tasks"
)

// signals are the flags that one task waits for and writes.
type signals struct {
	waits, writes []*flag
}

// flag returns a flag of a rank, at this rank's current sequence number.
func (r *rank) flag(s calls.Stmt, owner int64, f calls.Flag) (*flag, error) {
	i, err := r.eval(s, f.Transfer)
	if err != nil {
		return nil, err
	}
	d := r.machine.shares[f.Share]
	if d == nil {
		return nil, r.fail(s, "nothing is shared as %s", f.Share)
	}
	if n, _ := r.env.Eval(d.Transfers); i < 0 || i >= n {
		return nil, r.fail(s, "there is no transfer %d among %d", i, n)
	}
	if _, err := r.remote(s, f.Share, owner); err != nil {
		return nil, err
	}
	r.touches(r.machine.rank(owner), f.Share, calls.FlagsOf(f.Share))
	number := r.begun[f.Share]
	if number == 0 {
		return nil, r.fail(s, "no call of %s was begun", f.Share)
	}
	key := fmt.Sprint(owner, f.Share, f.Done, i, number)
	if r.machine.flags[key] == nil {
		r.machine.flags[key] = &flag{}
	}
	return r.machine.flags[key], nil
}

// awaits adds a flag of this rank that a task waits for.
func (g *signals) awaits(r *rank, s calls.Stmt, f calls.Flag) error {
	found, err := r.flag(s, r.number, f)
	g.waits = append(g.waits, found)
	return err
}

// sets adds a flag of a peer that a task writes.
func (g *signals) sets(r *rank, s calls.Stmt, peer expr.Expr, f calls.Flag) error {
	number, err := r.eval(s, peer)
	if err != nil {
		return err
	}
	found, err := r.flag(s, number, f)
	if err == nil && (found.write != nil || slices.Contains(g.writes, found)) {
		return r.fail(s, "the flag is written twice in a call")
	}
	g.writes = append(g.writes, found)
	return err
}

// transfer adds the flags of a transfer by one task: it waits for ready and writes done.
func (g *signals) transfer(r *rank, s calls.Stmt, share string, peer, transfer expr.Expr) error {
	if err := g.awaits(r, s, calls.Flag{Share: share, Transfer: transfer}); err != nil {
		return err
	}
	return g.sets(r, s, peer, calls.Flag{Share: share, Done: true, Transfer: transfer})
}

// by sets the task that waits for the flags and writes them.
func (g *signals) by(t *tasks.Task) {
	for _, f := range g.waits {
		f.waits = append(f.waits, t)
	}
	for _, f := range g.writes {
		f.write = t
	}
}

// shared issues statements that use flags and peer memory.
func (r *rank) shared(s calls.Stmt) error {
	var g signals
	var on calls.Stream
	var run func() error
	var err error
	switch s := s.(type) {
	case *calls.FlagWrite:
		on, err = s.On, g.sets(r, s, s.Peer, s.Flag)
	case *calls.FlagWait:
		on, err = s.On, g.awaits(r, s, s.Flag)
	case *calls.Transfer:
		on = s.On
		run, err = r.copy(s, &g)
	case *calls.MemOpBatch:
		on = s.On
		run, err = r.batch(s, &g)
	case *calls.PeerSum:
		on = s.On
		run, err = r.sum(s, &g)
	}
	if err != nil {
		return err
	}
	stream, err := r.on(s, on)
	if err != nil {
		return err
	}
	t := r.issue(s, stream, run)
	g.by(t)
	if movesData(s) {
		r.communicates(t, t)
	}
	return nil
}

// copy returns the work of a transfer by SMs.
func (r *rank) copy(s *calls.Transfer, g *signals) (func() error, error) {
	v, err := r.operands(s)
	if err != nil {
		return nil, err
	}
	return copies(v), g.transfer(r, s, s.Share, s.Peer, s.Transfer)
}

// parts visits the statements inside a batch or a sum, also in loops and branches, in the order of issue.
func (r *rank) parts(body []calls.Stmt, visit func(calls.Stmt) error) error {
	inner := *r.walk
	inner.Visit = func(s calls.Stmt) error {
		if _, ok := s.(*calls.Declare); ok {
			return r.name(s)
		}
		return visit(s)
	}
	return inner.List(body)
}

// batch collects the flag operations, or the copies, of a batch.
func (r *rank) batch(s *calls.MemOpBatch, g *signals) (func() error, error) {
	var copies []func() error
	err := r.parts(s.Body, func(part calls.Stmt) error {
		switch part := part.(type) {
		case *calls.FlagWrite:
			return g.sets(r, part, part.Peer, part.Flag)
		case *calls.FlagWait:
			return g.awaits(r, part, part.Flag)
		case *calls.Transfer:
			run, err := r.copy(part, g)
			copies = append(copies, run)
			return err
		}
		return r.fail(part, "this is no part of a batch")
	})
	return func() error {
		for _, run := range copies {
			if err := run(); err != nil {
				return err
			}
		}
		return nil
	}, err
}

// partial is the partial sum of a rank, in one or more pieces.
type partial struct {
	rank   int64
	pieces [][]float64
}

// sum returns the work of a peer-read sum.
func (r *rank) sum(s *calls.PeerSum, g *signals) (func() error, error) {
	v, err := r.operands(s)
	if err != nil {
		return nil, err
	}
	own, out := v[effects.Own].all(), v[effects.Out].all()
	read, stores := []*partial{{r.number, [][]float64{own}}}, []*partial{}
	err = r.parts(s.Body, func(part calls.Stmt) error {
		p, ok := part.(*calls.PeerPart)
		if !ok {
			return r.fail(part, "this is no part of a sum")
		}
		peer, err := r.eval(p, p.Peer)
		if err != nil {
			return err
		}
		piece, err := r.slice(p, p.At, p.Elements)
		if err != nil {
			return err
		}
		list := &read
		if p.Store {
			list = &stores
		}
		i := slices.IndexFunc(*list, func(other *partial) bool { return other.rank == peer })
		if i < 0 {
			i = len(*list)
			*list = append(*list, &partial{rank: peer})
		}
		(*list)[i].pieces = append((*list)[i].pieces, piece)
		return g.transfer(r, p, p.Share, p.Peer, p.Transfer)
	})
	slices.SortStableFunc(read, func(a, b *partial) int { return cmp.Compare(a.rank, b.rank) })
	return func() error {
		values := make([]float64, len(out))
		for _, p := range read {
			for i, x := range slices.Concat(p.pieces...) {
				values[i] = float64(float32(values[i] + x))
			}
		}
		for i, x := range values {
			out[i] = s.Type.Round(x)
		}
		for _, p := range stores {
			rest := out
			for _, piece := range p.pieces {
				rest = rest[copy(piece, rest):]
			}
		}
		return nil
	}, err
}
