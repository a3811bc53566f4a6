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

	"github.com/hirgen/hirgen/internal/tools/launch"
)

// peers is a command that times calls of other libraries. It runs for one problem. When it is ready it prints
//
//	{"peers": ["eager", "compiled"]}
//
// For each round of a peer it reads a line with the name of the peer. It answers with the microseconds of a call in each repeat, or
// with the reason why there are none:
//
//	{"us": [101.5, 99.8]}
//	{"failed": "out of memory"}
//
// Other lines of its output, which do not begin with {, are ignored. The command ends when its input ends.
type peers struct {
	stdin  io.WriteCloser
	stop   context.CancelFunc
	out    *lines
	errors *lines
	ended  chan struct{} // closed when the command has ended
	open   int           // number of peers that were neither finished nor killed
	broken error         // error after which the command gives no more answers; nil: it still answers
}

// peer is one of the peers of the command, timed as a process.
type peer struct {
	*peers
	name string
}

// peersVariable is the environment variable that describes the measurement to the command, as the JSON of a
// problemOfPeers.
const peersVariable = "HIRGEN_BENCH"

type problemOfPeers struct {
	Problem string           `json:"problem"`
	Spec    string           `json:"spec"`
	Params  map[string]int64 `json:"params"`
	Ranks   int              `json:"ranks"`
	Device  string           `json:"device"`
	Repeats int              `json:"repeats"` // number of repeats in a round
}

// startPeers starts the command for a problem whose programs are ready. It returns a turn for each peer. If the command
// does not print its peers, the result is one turn with a failed row.
func (r *run) startPeers(of Row) []*turn {
	row := Row{Case: Case{Spec: of.Spec, Params: of.Params, Group: of.Group}, Name: of.Name, Ranks: of.Ranks, Device: of.Device,
		Values: of.Values, Peer: true}
	p, names, err := r.openPeers(row)
	if err != nil {
		row.Label, row.Status, row.Reason = "peers", Failed, err.Error()
		return []*turn{{program: &program{row: row}, isBaseline: true}}
	}
	var turns []*turn
	for _, name := range names {
		row.Label = name
		turns = append(turns, &turn{program: &program{row: row}, running: &peer{p, name}, isBaseline: true})
	}
	return turns
}

// openPeers starts the command and waits until it prints the names of its peers.
func (r *run) openPeers(row Row) (*peers, []string, error) {
	about, err := json.Marshal(problemOfPeers{row.Problem(), row.Spec, row.Values, row.Ranks, row.Device, r.Repeats})
	if err != nil {
		return nil, nil, err
	}
	ctx, stop := context.WithCancel(r.ctx)
	command := exec.CommandContext(ctx, "sh", "-c", r.Peers)
	launch.InOwnGroup(command) // the command may start several processes, as torchrun does
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
		_ = command.Wait() // not reported: errors quote the command's output
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

// answer reads the next line of JSON. If none arrives in time or the line is not valid, it stops the command, because a
// late answer would be taken for the next answer.
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

// end closes the command's input, and kills the command if it does not end within the limit. It returns when the
// command has ended.
func (p *peers) end(limit time.Duration) {
	_ = p.stdin.Close()
	select {
	case <-p.ended:
	case <-time.After(limit):
	}
	p.stop()
	<-p.ended
}

// leave counts a peer as finished. The command ends after its last peer.
func (p *peers) leave(limit time.Duration) {
	if p.open--; p.open == 0 && p.broken == nil {
		p.end(limit)
	}
}

// ready implements process. A peer is ready once the command has printed its name.
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

// besidePeers sets the speedup of each row over the fastest peer.
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
