package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/internal/tools/launch"
)

// Beginnings of output lines of a program that was started with --paced.
const (
	saysReady = "# ready"
	saysRound = "# round, us:"
)

// process is a program of hirgen, or a peer, that is timed in rounds.
type process interface {
	ready(limit time.Duration) error
	round(limit time.Duration) ([]float64, error) // microseconds of a call in each repeat
	finish(limit time.Duration) error
	kill()
}

// paced is a running program that waits for a line before each round. All its ranks are this process's children.
type paced struct {
	stdin *os.File
	stop  context.CancelFunc
	out   *lines
	ended chan error // receives one value when all ranks have ended: nil or the error
}

// startPaced starts the ranks of a built program.
func startPaced(ctx context.Context, program string, ranks int, arguments []string) (*paced, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	p := &paced{stdin: write, stop: stop, out: newLines(), ended: make(chan error, 1)}
	go func() {
		defer read.Close()
		exit, err := launch.Run(ctx, launch.Options{
			Program: program, N: ranks, Args: append([]string{"--paced"}, arguments...),
			Stdin: read, Stdout: p.out, Stderr: p.out,
		})
		if err == nil && exit != 0 {
			err = fmt.Errorf("exit code %d", exit)
		}
		p.ended <- err
		p.out.end()
	}()
	return p, nil
}

// ready waits until the program waits for its first round.
func (p *paced) ready(limit time.Duration) error {
	_, err := p.out.wait(saysReady, limit)
	return err
}

// round times a round. It returns the microseconds of a call in each repeat, or an error if the program ends or does
// not answer in time.
func (p *paced) round(limit time.Duration) ([]float64, error) {
	if _, err := p.stdin.WriteString("round\n"); err != nil {
		return nil, errors.New(p.out.said())
	}
	text, err := p.out.wait(saysRound, limit)
	if err != nil {
		return nil, err
	}
	var times []float64
	for _, word := range strings.Fields(text) {
		us, err := strconv.ParseFloat(word, 64)
		if err != nil {
			return nil, fmt.Errorf("the program printed %q among times", word)
		}
		times = append(times, us)
	}
	return times, nil
}

// finish closes the program's input, and kills the program if it does not end in time. That is an error, and so is an
// exit code other than 0, which a program with wrong elements also has.
func (p *paced) finish(limit time.Duration) error {
	_ = p.stdin.Close()
	defer p.stop()
	select {
	case err := <-p.ended:
		return err
	case <-time.After(limit):
		return errors.New("the program did not end")
	}
}

// kill kills the program and waits until it has ended.
func (p *paced) kill() {
	_ = p.stdin.Close()
	p.stop()
	<-p.ended
}

// lines collects the output of a program, line by line.
type lines struct {
	mutex   sync.Mutex
	partial []byte
	all     []string
	next    int // index of the first line that wait has not read
	over    bool
	changed chan struct{} // has a value after new output or the end
}

func newLines() *lines { return &lines{changed: make(chan struct{}, 1)} }

// Write implements io.Writer.
func (l *lines) Write(data []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.partial = append(l.partial, data...)
	for {
		line, rest, found := bytes.Cut(l.partial, []byte("\n"))
		if !found {
			break
		}
		l.all, l.partial = append(l.all, string(line)), rest
	}
	l.tell()
	return len(data), nil
}

// end marks the end of the output.
func (l *lines) end() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.over = true
	l.tell()
}

func (l *lines) tell() {
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// wait returns the rest of the next line that begins with word. It returns an error if the output ends or the limit
// passes first.
func (l *lines) wait(word string, limit time.Duration) (string, error) {
	deadline := time.After(limit)
	for {
		text, found, over := l.look(word)
		switch {
		case found:
			return text, nil
		case over:
			return "", errors.New(l.said())
		}
		select {
		case <-l.changed:
		case <-deadline:
			return "", fmt.Errorf("no answer in %v: %s", limit, l.said())
		}
	}
}

func (l *lines) look(word string) (text string, found, over bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for ; l.next < len(l.all); l.next++ {
		if rest, ok := strings.CutPrefix(l.all[l.next], word); ok {
			l.next++
			return strings.TrimSpace(rest), true, false
		}
	}
	return "", false, l.over
}

// saidNothing is the text of an error if the program's output has no line to show.
const saidNothing = "the program ended without a word"

// mostSaid is the most lines of output in an error.
const mostSaid = 6

// said returns the last mostSaid lines of the output, without blank lines and lines that begin with #. It returns
// saidNothing if no line remains.
func (l *lines) said() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	words := lists.Except(l.all, func(line string) bool {
		return strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#")
	})
	if len(words) == 0 {
		return saidNothing
	}
	return strings.Join(words[max(0, len(words)-mostSaid):], " / ")
}
