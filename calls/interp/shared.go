package interp

import (
	"cmp"
	"slices"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/effects"
	"github.com/hirgen/hirgen/calls/issue"
	"github.com/hirgen/hirgen/internal/base/expr"
	"github.com/hirgen/hirgen/internal/base/tasks"
)

// signals are the flags that one task waits for and writes.
type signals struct {
	waits, writes []*flag
}

// add adds a flag that a task waits for or writes. It is an error of the rank if the flag is written twice in a call,
// or if no call of the share has begun.
func (g *signals) add(r *rank, s calls.Stmt, signal issue.Signal, share int32) {
	name := r.machine.program.Shares[share].Name
	r.touches(r.machine.rank(int64(signal.Owner)), share, calls.FlagsOf(name))
	if signal.Sequence == 0 {
		r.failed(r.fail(s, "no call of %s was begun", name))
	}
	write := signal.Write
	signal.Write = false
	f := r.machine.flags[signal]
	if f == nil {
		f = &flag{}
		r.machine.flags[signal] = f
	}
	switch {
	case !write:
		g.waits = append(g.waits, f)
	case f.write != nil || slices.Contains(g.writes, f):
		r.failed(r.fail(s, "the flag is written twice in a call"))
	default:
		g.writes = append(g.writes, f)
	}
}

// one adds the flag of a FlagWrite or a FlagWait: the peer's flag to write or, without a peer, this rank's flag to wait
// for.
func (g *signals) one(r *rank, s calls.Stmt, f calls.Flag, peer expr.Expr) error {
	if signal, share, ok := r.walk.Signal(s, f, peer); ok {
		g.add(r, s, signal, share)
	}
	return r.err
}

// transfer adds the flags of a Transfer or a PeerPart: the task waits for the ready flag and writes the done flag.
func (g *signals) transfer(r *rank, s calls.Stmt, share string, peer, transfer expr.Expr) error {
	r.walk.Exchange(s, share, peer, transfer, func(signal issue.Signal, share int32) { g.add(r, s, signal, share) })
	return r.err
}

// by makes t the task that waits for the flags and writes them.
func (g *signals) by(t *tasks.Task) {
	for _, f := range g.waits {
		f.waits = append(f.waits, t)
	}
	for _, f := range g.writes {
		f.write = t
	}
}

// shared issues a statement that uses flags.
func (r *rank) shared(s calls.Stmt) error {
	var g signals
	var on calls.Stream
	var run func() error
	var err error
	switch s := s.(type) {
	case *calls.FlagWrite:
		on, err = s.On, g.one(r, s, s.Flag, s.Peer)
	case *calls.FlagWait:
		on, err = s.On, g.one(r, s, s.Flag, nil)
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

// copy adds the flags of a Transfer, and returns a function that copies its data.
func (r *rank) copy(s *calls.Transfer, g *signals) (func() error, error) {
	v, err := r.operands(s)
	if err != nil {
		return nil, err
	}
	return copies(v), g.transfer(r, s, s.Share, s.Peer, s.Transfer)
}

// parts visits the statements inside a batch or a sum, also in loops and branches, in the order of issue.
func (r *rank) parts(body []calls.Stmt, visit func(calls.Stmt) error) error {
	r.walk.Run(body, func(s calls.Stmt) {
		if r.err == nil {
			r.failed(visit(s))
		}
	})
	return r.err
}

// batch adds the flags of a batch, and returns a function that makes its copies, if it has any.
func (r *rank) batch(s *calls.MemOpBatch, g *signals) (func() error, error) {
	var runs []func() error
	err := r.parts(s.Body, func(part calls.Stmt) error {
		switch part := part.(type) {
		case *calls.FlagWrite:
			return g.one(r, part, part.Flag, part.Peer)
		case *calls.FlagWait:
			return g.one(r, part, part.Flag, nil)
		case *calls.Transfer:
			run, err := r.copy(part, g)
			runs = append(runs, run)
			return err
		case *calls.Memcpy:
			v, err := r.operands(part)
			runs = append(runs, copies(v))
			return err
		}
		return r.fail(part, "this is no part of a batch")
	})
	return func() error {
		for _, run := range runs {
			if err := run(); err != nil {
				return err
			}
		}
		return nil
	}, err
}

// partial is the partial sum of a rank, or the memory of a rank that receives the result, in one or more pieces.
type partial struct {
	rank   int64
	pieces [][]float64
}

// sum adds the flags of a peer-read reduction, and returns a function that computes it.
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
