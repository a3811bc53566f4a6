package bench

import (
	"math"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/internal/tools/launch"
)

// turn is a program or a peer that is timed in rounds.
type turn struct {
	*program
	running    process // nil: never started, failed or ended
	report     string  // path of the report; a peer writes none
	times      []float64
	isBaseline bool // not a candidate: a peer, or the GEMMs alone
}

// time starts built programs, the GEMMs alone and the peers, and times all of them in the same alternating rounds. Each
// round begins one program later than the round before. It returns the rows of the peers.
func (r *run) time(g []*program, alone *program) (peers []Row, err error) {
	turns, err := r.startAll(g)
	defer func() { killAll(turns) }()
	if err != nil {
		return nil, err
	}
	if alone != nil {
		fresh := *alone // a copy with separate times for this group
		own, err := r.start(&fresh, "--no-check")
		if err != nil {
			return nil, err
		}
		own.isBaseline = true
		own.guard(func() error { return own.running.ready(startLimit) })
		turns = append(turns, own)
		defer func() {
			for _, t := range turns {
				t.row.Products = own.row.Median
			}
		}()
	}
	if r.Peers != "" && len(g) > 0 {
		others := r.startPeers(g[0].row)
		turns = append(turns, others...)
	}
	r.rounds(turns, len(g))
	var rows []*Row
	for _, t := range turns {
		rows = append(rows, &t.row)
	}
	besidePeers(rows)
	for _, row := range rows {
		if row.Peer {
			peers = append(peers, *row)
		}
	}
	return peers, r.ctx.Err()
}

// settling is how long an idle GPU works before it is timed. It first exceeds its power limit. Half a second later it
// throttles to below the clock that it can sustain.
const settling = time.Second

// settle keeps the GPUs busy with the first running program for the time settling, and discards its times. It does
// nothing on the CPU device.
func (r *run) settle(turns []*turn) {
	at := slices.IndexFunc(turns, func(t *turn) bool { return t.running != nil })
	if r.Device != launch.CUDA || at < 0 {
		return
	}
	for begin := time.Now(); time.Since(begin) < settling && turns[at].running != nil; {
		turns[at].guard(func() error {
			_, err := turns[at].running.round(roundLimit)
			return err
		})
	}
}

// rounds times ready programs in alternating rounds, then ends them. It reports finished steps, as many as the argument
// programs, after it has settled the GPUs and again after each round.
func (r *run) rounds(turns []*turn, programs int) {
	r.settle(turns)
	r.step(programs, "")
	racing := turns
	for round := range r.Rounds {
		for i := range racing {
			t := racing[(i+round)%len(racing)]
			t.guard(t.round)
		}
		racing = r.near(racing)
		r.step(programs, "")
	}
	for _, t := range turns {
		t.finish()
	}
}

// near drops candidates that take more than Near times as long as the fastest so far.
func (r *run) near(racing []*turn) []*turn {
	if r.Near == 0 {
		return racing
	}
	best, medians := math.Inf(1), map[*turn]float64{}
	for _, t := range racing {
		if !t.isBaseline && t.running != nil {
			medians[t] = quantile(slices.Sorted(slices.Values(t.times)), 0.5)
			best = min(best, medians[t])
		}
	}
	return lists.Except(racing, func(t *turn) bool { return medians[t] > r.Near*best })
}

// start starts a program, unless its row already has a status, for example of a failed build.
func (r *run) start(p *program, more ...string) (*turn, error) {
	t := &turn{program: p, report: p.path + ".bench.json"}
	if p.row.Status != "" {
		return t, nil
	}
	_ = os.Remove(t.report)
	arguments := []string{
		"--iters", strconv.Itoa(r.iters(p)), "--repeats", strconv.Itoa(r.Repeats), "--timeout", "600", "--json", t.report,
	}
	running, err := startPaced(r.ctx, p.path, p.row.Ranks, append(append(arguments, more...), r.Arguments...))
	if err == nil {
		t.running = running
	}
	return t, err
}

// guard runs the next step of a running program. If the step fails, it marks the row as failed and kills the program.
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

// round times a round and appends its times.
func (t *turn) round() error {
	times, err := t.running.round(roundLimit)
	t.times = append(t.times, times...)
	return err
}

// finish ends a program and sets its status and times. It reads the report of a program of hirgen.
func (t *turn) finish() {
	if t.running == nil {
		return
	}
	ended := t.running.finish(endLimit)
	t.running = nil
	if t.row.Peer {
		t.row.Status = OK
		if t.row.take(t.times); len(t.times) == 0 {
			t.fail("the command of the peers gave no times")
		}
		return
	}
	r, ok := readReport(t.report)
	switch {
	case !ok:
		reason := "the program wrote no report"
		if ended != nil {
			reason += ": " + ended.Error()
		}
		t.fail(reason)
		return
	case r.Wrong == nil:
		t.row.Status, t.row.Unchecked = OK, true
	case *r.Wrong != 0:
		t.row.Status, t.row.Wrongs = Wrong, *r.Wrong
	default:
		t.row.Status = OK
	}
	t.row.Memory, t.row.Machine = r.Memory, r.machine()
	if t.row.Device != string(launch.CPU) { // the CPU device has no cuDNN
		t.row.Tiled = r.tiled()
	}
	t.row.take(t.times)
}
