package bench

import (
	"os"
	"strconv"
)

// turn is a program that runs and waits for its rounds.
type turn struct {
	*program
	running *paced
	report  string // file
	times   []float64
}

// time runs built programs side by side, and times them in turns; each round begins with another one. What their
// GEMMs alone take is timed among them.
func (r *run) time(g []*program, alone *program) error {
	turns, err := r.startAll(g)
	defer func() { killAll(turns) }()
	if err != nil {
		return err
	}
	if alone != nil {
		fresh := *alone // its times are those of this group
		own, err := r.start(&fresh, "--no-check")
		if err != nil {
			return err
		}
		own.guard(func() error { return own.running.ready(startLimit) })
		turns = append(turns, own)
		defer func() {
			for _, t := range turns {
				t.row.Products = own.row.Median
			}
		}()
	}
	r.rounds(turns, len(g))
	return r.ctx.Err()
}

// rounds times programs that are ready in turns, and ends them.
func (r *run) rounds(turns []*turn, programs int) {
	r.step(programs, "")
	for round := range r.Rounds {
		for i := range turns {
			t := turns[(i+round)%len(turns)]
			t.guard(t.round)
		}
		r.step(programs, "")
	}
	for _, t := range turns {
		t.finish()
	}
}

// start starts a program; one that could not be built has no process.
func (r *run) start(p *program, more ...string) (*turn, error) {
	t := &turn{program: p, report: p.path + ".bench.json"}
	if p.row.Status != "" {
		return t, nil
	}
	_ = os.Remove(t.report)
	arguments := []string{
		"--iters", strconv.Itoa(r.iters(p)), "--repeats", strconv.Itoa(r.Repeats), "--timeout", "600", "--json", t.report,
	}
	var err error
	t.running, err = startPaced(r.ctx, p.path, p.row.Ranks, append(append(arguments, more...), r.Arguments...))
	return t, err
}

// guard does the next step of a program that still runs; one that fails is over.
func (t *turn) guard(step func() error) {
	if t.running == nil {
		return
	}
	if err := step(); err != nil {
		t.fail(err.Error())
		t.kill()
	}
}

// kill ends a program that still runs.
func (t *turn) kill() {
	if t.running != nil {
		t.running.kill()
		t.running = nil
	}
}

// round times a round.
func (t *turn) round() error {
	times, err := t.running.round(roundLimit)
	t.times = append(t.times, times...)
	return err
}

// finish ends a program and takes its report.
func (t *turn) finish() {
	if t.running == nil {
		return
	}
	ended := t.running.finish(endLimit)
	t.running = nil
	r, ok := readReport(t.report)
	switch {
	case !ok:
		reason := "the program wrote no report"
		if ended != nil {
			reason += ": " + ended.Error()
		}
		t.fail(reason)
		return
	case r.Wrong != 0:
		t.row.Status = Wrong
	default:
		t.row.Status = OK
	}
	t.row.Wrongs, t.row.Memory, t.row.Machine = r.Wrong, r.Memory, r.machine()
	t.row.take(t.times)
}
