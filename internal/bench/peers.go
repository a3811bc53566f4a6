package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/hirgen/hirgen/internal/launch"
)

// peers is a command that times calls of others' libraries, while it runs for a problem. It prints
//
//	{"peers": ["eager", "compiled"]}
//
// once it is ready, then reads a line with the name of one of them for each round, and answers with the microseconds of
// a call in each repeat, or with why there are none:
//
//	{"us": [101.5, 99.8]}
//	{"failed": "out of memory"}
//
// Lines of its output that do not begin with { are its own. It ends when its input does.
type peers struct {
	stdin  io.WriteCloser
	stop   context.CancelFunc
	out    *lines
	errors *lines
	ended  chan struct{} // closed then
	open   int           // peers that were neither ended nor killed
	broken error         // why there are no more answers
}

// peer is one of them, as a turn times it.
type peer struct {
	*peers
	name string
}

// peersVariable tells the command what is measured, as the JSON of a problemOfPeers.
const peersVariable = "HIRGEN_BENCH"

type problemOfPeers struct {
	Problem string           `json:"problem"`
	Spec    string           `json:"spec"`
	Params  map[string]int64 `json:"params"`
	Ranks   int              `json:"ranks"`
	Device  string           `json:"device"`
	Repeats int              `json:"repeats"` // of a round
}

// startPeers starts the command beside the programs of a problem, which are ready: a turn for each of its peers. A
// command that does not say which it has is a failed row.
func (r *run) startPeers(of Row) []*turn {
	row := Row{Case: Case{Spec: of.Spec, Params: of.Params, Group: of.Group}, Name: of.Name, Ranks: of.Ranks, Device: of.Device, Values: of.Values, Peer: true}
	p, names, err := r.openPeers(row)
	if err != nil {
		row.Label, row.Status, row.Reason = "peers", Failed, err.Error()
		return []*turn{{program: &program{row: row}, isAside: true}}
	}
	var turns []*turn
	for _, name := range names {
		row.Label = name
		turns = append(turns, &turn{program: &program{row: row}, running: &peer{p, name}, isAside: true})
	}
	return turns
}

// openPeers starts the command, and waits until it says its peers' names.
func (r *run) openPeers(row Row) (*peers, []string, error) {
	about, err := json.Marshal(problemOfPeers{row.Problem(), row.Spec, row.Values, row.Ranks, row.Device, r.Repeats})
	if err != nil {
		return nil, nil, err
	}
	ctx, stop := context.WithCancel(r.ctx)
	command := exec.CommandContext(ctx, "sh", "-c", r.Peers)
	launch.InOwnGroup(command) // a script of several processes, as torchrun is
	p := &peers{stop: stop, out: newLines(), errors: newLines(), ended: make(chan struct{})}
	command.Env = append(os.Environ(), peersVariable+"="+string(about))
	command.Stdout, command.Stderr, command.WaitDelay = p.out, p.errors, time.Second
	if p.stdin, err = command.StdinPipe(); err == nil {
		err = command.Start()
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	go func() {
		_ = command.Wait() // what it said is the error
		p.out.end()
		close(p.ended)
	}()
	var hello struct {
		Peers []string `json:"peers"`
	}
	if err := p.answer(&hello, startLimit); err != nil {
		return nil, nil, err
	}
	if p.open = len(hello.Peers); p.open == 0 {
		p.end(endLimit)
	}
	return p, hello.Peers, nil
}

// answer reads the next line of JSON. Without one the command is stopped: a late answer would be taken for another one.
func (p *peers) answer(into any, limit time.Duration) error {
	text, err := p.out.wait("{", limit)
	if err != nil {
		if said := p.errors.said(); said != saidNothing {
			err = fmt.Errorf("%w: %s", err, said)
		}
	} else if err = json.Unmarshal([]byte("{"+text), into); err != nil {
		err = fmt.Errorf("the command of the peers printed {%s: %w", text, err)
	}
	if err != nil {
		p.broken = err
		p.end(0)
	}
	return err
}

// end ends the command's input, and the command if that does not suffice.
func (p *peers) end(limit time.Duration) {
	_ = p.stdin.Close()
	select {
	case <-p.ended:
	case <-time.After(limit):
	}
	p.stop()
	<-p.ended
}

// leave counts a peer as over; the command ends with the last one.
func (p *peers) leave(limit time.Duration) {
	if p.open--; p.open == 0 && p.broken == nil {
		p.end(limit)
	}
}

// ready implements process: all peers are, once they have names.
func (p *peer) ready(time.Duration) error { return nil }

// round implements process.
func (p *peer) round(limit time.Duration) ([]float64, error) {
	if p.broken != nil {
		return nil, p.broken
	}
	if _, err := io.WriteString(p.stdin, p.name+"\n"); err != nil {
		return nil, errors.New(p.errors.said())
	}
	var times struct {
		Us     []float64 `json:"us"`
		Failed string    `json:"failed"`
	}
	if err := p.answer(&times, limit); err != nil {
		return nil, err
	}
	if times.Failed != "" {
		return nil, errors.New(times.Failed)
	}
	return times.Us, nil
}

// finish implements process.
func (p *peer) finish(limit time.Duration) error {
	p.leave(limit)
	return nil
}

// kill implements process.
func (p *peer) kill() { p.leave(0) }

// besidePeers says how many times as fast as the fastest peer each row is.
func besidePeers(rows []*Row) {
	best := 0.0
	for _, row := range rows {
		if row.Peer && row.Status == OK && (best == 0 || row.Median < best) {
			best = row.Median
		}
	}
	for _, row := range rows {
		row.AgainstPeer = ratio(best, row.Median)
	}
}
