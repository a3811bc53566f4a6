package launch

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"time"
)

// Options describe a run.
type Options struct {
	Program string        // path of a program
	Foreign bool          // Program was not emitted by hirgen: the meaning of its exit codes is unknown
	N       int           // number of ranks; for an emitted program, the size of its mesh
	Seed    int64         // seed of the CPU device's order of execution; 0: $HIRGEN_CPU_SEED, else first in, first out
	Timeout time.Duration // bound of every wait of an emitted program; 0 leaves its default
	Args    []string      // arguments of the program
	Env     []string      // additional "NAME=VALUE" entries for every rank
	Stdin   io.Reader     // input of rank 0; if nil, rank 0 reads nothing, as the other ranks
	Stdout  io.Writer
	Stderr  io.Writer
	Grace   time.Duration // how long survivors of a failure may take to report it; 0: 10 s, or Timeout and 1 s if that is less
}

const (
	// defaultGrace is enough time for a rank to notice that another rank closed its connection, and to report that.
	defaultGrace = 10 * time.Second
	// killDelay is the time between SIGTERM and SIGKILL.
	killDelay = 2 * time.Second
	// interrupted is the exit code after Ctrl-C, as in shells.
	interrupted = 130
)

// Run runs N ranks of the program on this machine and waits until all of them are gone. When a rank fails, the others
// have the time Grace to report what they were waiting for. Run then kills them and all processes that they started.
// The exit code is the highest exit code of the ranks (128 + signal for a rank that a signal killed). Code 5, a peer
// failed, counts only if no rank has another failure code. Ranks that Run kills do not count. Cancelling ctx kills all
// ranks; the exit code is then at least 130. Run returns an *EnvironmentError if the ranks cannot start.
func Run(ctx context.Context, options Options) (exit int, err error) {
	port, release, err := ReservePort()
	if err != nil {
		return 0, &EnvironmentError{Message: fmt.Sprintf("no free TCP port on 127.0.0.1: %v", err), Err: err}
	}
	defer release()
	// The kernel kills a rank when the thread that started it ends, so that no rank survives this process even if it is
	// killed. LockOSThread keeps this thread until the run ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	g := &group{options: options, out: newPrinter(options), secret: rand.Text()}
	for rank := range options.N {
		if err := g.start(rank, port); err != nil {
			g.kill()
			g.wait(ctx)
			return 0, &EnvironmentError{Message: fmt.Sprintf("starting rank %d: %v", rank, err), Err: err}
		}
	}
	return g.wait(ctx), nil
}

// environment returns the environment of this process with the launch variables of one rank. The secret
// keeps processes of other users out of the job. It is an environment variable, because other users cannot read
// the environment of a process.
func (o *Options) environment(rank, port int, secret string) []string {
	env := append(os.Environ(),
		"HIRGEN_RANK="+strconv.Itoa(rank),
		"HIRGEN_WORLD="+strconv.Itoa(o.N),
		"HIRGEN_LOCAL_RANK="+strconv.Itoa(rank),
		"HIRGEN_ADDR=127.0.0.1",
		"HIRGEN_PORT="+strconv.Itoa(port),
		"HIRGEN_JOB_SECRET="+secret)
	if o.Seed != 0 {
		env = append(env, "HIRGEN_CPU_SEED="+strconv.FormatInt(o.Seed, 10))
	}
	return append(env, o.Env...)
}

// arguments returns the program's command line.
func (o *Options) arguments() []string {
	if o.Timeout == 0 {
		return o.Args
	}
	seconds := strconv.FormatFloat(o.Timeout.Seconds(), 'f', -1, 64)
	return append([]string{"--timeout", seconds}, o.Args...)
}

// grace returns how long other ranks may run after the first failure. If Timeout is short, that is long enough for
// their waits to time out.
func (o *Options) grace() time.Duration {
	switch {
	case o.Grace > 0:
		return o.Grace
	case o.Timeout > 0:
		return min(o.Timeout+time.Second, defaultGrace)
	}
	return defaultGrace
}
