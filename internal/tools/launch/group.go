package launch

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// group is the ranks of one run.
type group struct {
	options Options
	out     *printer
	secret  string // a secret of this run, of 128 random bits or more
	ranks   []*rank
	exits   chan *rank
}

// rank is the process of one rank.
type rank struct {
	index  int
	cmd    *exec.Cmd
	err    error // error that Wait returned
	gone   bool  // the rank has ended, and err is valid
	killed bool  // kill was called before wait noticed that the rank had ended
}

// start starts one rank in its own process group. Ctrl-C then reaches only the launcher, and a kill reaches all
// processes that the rank started.
func (g *group) start(index, port int) error {
	if g.exits == nil {
		g.exits = make(chan *rank, g.options.N)
	}
	cmd := exec.Command(g.options.Program, g.options.arguments()...)
	cmd.Env = g.options.environment(index, port, g.secret)
	cmd.Stdout, cmd.Stderr = g.out.stdout(index), g.out.stderr(index)
	if index == 0 {
		cmd.Stdin = g.options.Stdin
	}
	cmd.SysProcAttr = processAttributes()
	cmd.WaitDelay = killDelay // Wait ends after this time even if a process that the rank started holds the pipe
	if err := cmd.Start(); err != nil {
		return err
	}
	r := &rank{index: index, cmd: cmd}
	g.ranks = append(g.ranks, r)
	go func() {
		r.err = cmd.Wait()
		g.exits <- r
	}()
	return nil
}

// wait waits until every rank is gone and returns the exit code of the run, as Run describes it.
func (g *group) wait(ctx context.Context) int {
	var patience <-chan time.Time // fires when the grace period after the first failure ends
	done, worst := ctx.Done(), 0
	for left := len(g.ranks); left > 0; {
		select {
		case r := <-g.exits:
			left--
			r.gone = true
			killGroup(r.cmd.Process.Pid) // end processes that the rank left running
			code := g.report(r)
			worst = worse(worst, code)
			if code != 0 && left > 0 && patience == nil {
				patience = time.After(g.options.grace())
			}
		case <-patience:
			g.out.notef("stopping the ranks that are still there %s after the first failure", g.options.grace())
			g.kill()
		case <-done:
			g.kill()
			done, worst = nil, max(worst, interrupted)
		}
	}
	return worst
}

// peerFailed is the exit code of a rank that ended because a peer failed.
const peerFailed = 5

// worse returns the exit code that explains a failure better: the higher one, but peerFailed only if both are
// peerFailed or the other is 0.
func worse(a, b int) int {
	rank := func(code int) int {
		if code == peerFailed {
			return 0
		}
		return code
	}
	switch {
	case a == 0 || b == 0:
		return a + b
	case rank(b) > rank(a):
		return b
	}
	return a
}

// kill sends SIGTERM to the process group of every remaining rank, and SIGKILL to the rank itself after killDelay.
func (g *group) kill() {
	var killed []*rank
	for _, r := range g.ranks {
		if !r.gone {
			r.killed = true
			killed = append(killed, r)
			terminateGroup(r.cmd.Process.Pid)
		}
	}
	time.AfterFunc(killDelay, func() {
		for _, r := range killed {
			_ = r.cmd.Process.Kill() // no effect on a process that was waited for
		}
	})
}

// report prints how a rank failed and returns its exit code, 128 + the signal that killed it, or 1 if it has neither. It
// returns 0 for a rank that the launcher stopped, because that code is not the program's.
func (g *group) report(r *rank) int {
	g.out.flush(r.index)
	var exit *exec.ExitError
	switch {
	case r.err == nil || errors.Is(r.err, exec.ErrWaitDelay):
		return 0
	case r.killed:
		g.out.notef("rank %d was stopped", r.index)
		return 0
	case !errors.As(r.err, &exit):
		g.out.notef("rank %d: %v", r.index, r.err)
		return 1
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		g.out.notef("rank %d was killed by signal %d (%s)", r.index, int(status.Signal()), status.Signal())
		return 128 + int(status.Signal())
	}
	code := exit.ExitCode()
	if g.options.Foreign {
		g.out.notef("rank %d exited with code %d", r.index, code)
	} else {
		g.out.notef("rank %d exited with code %d%s", r.index, code, meaning(code))
	}
	return code
}

// meaning describes an exit code of an emitted program. It returns "" for an unknown code.
func meaning(code int) string {
	meanings := map[int]string{
		1: "wrong elements", 2: "bad option", 3: "the machine is not as needed",
		4: "a device call failed", 5: "another rank failed", 6: "timeout", 7: "internal error",
	}
	if text, ok := meanings[code]; ok {
		return fmt.Sprintf(" (%s)", text)
	}
	return ""
}
