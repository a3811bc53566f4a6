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

// Options says what to run.
type Options struct {
	Program string        // path of an emitted program, or of another one
	Foreign bool          // it is another one: only rank, world and rendezvous are known to suit it
	N       int           // ranks: the extent of the program's mesh
	Seed    int64         // of the CPU device's order of execution; 0 is plain first in, first out
	Timeout time.Duration // bound of every wait of an emitted program; 0 leaves its default
	Args    []string      // for the program
	Env     []string      // further "NAME=VALUE" entries for every rank
	Stdin   io.Reader     // of rank 0; nil and the other ranks read nothing
	Stdout  io.Writer
	Stderr  io.Writer
	Grace   time.Duration // how long survivors of a failure may take to report it; 0 means the default
}

const (
	// defaultGrace suffices for a survivor that notices a closed connection.
	defaultGrace = 10 * time.Second
	// killDelay is what a rank gets between SIGTERM and SIGKILL.
	killDelay = 2 * time.Second
	// interrupted is the exit code after Ctrl-C, as shells have it.
	interrupted = 130
)

// Run runs N ranks of the program on this machine and waits until all of them are
// gone. When a rank fails the others get Grace to say what they were waiting for, and
// are then killed with everything that they started. The exit code is the highest of
// the ranks' (128 + signal for a rank that a signal killed), where 5, a peer failed, counts
// only if no rank has another one: the cause is what counts. Cancelling ctx kills all.
// The error is for what keeps the ranks from starting.
func Run(ctx context.Context, options Options) (exit int, err error) {
	port, release, err := ReservePort()
	if err != nil {
		return 0, &EnvironmentError{Message: fmt.Sprintf("no free TCP port on 127.0.0.1: %v", err), Err: err}
	}
	defer release()
	// The kernel kills a rank when the thread that started it ends, so that nothing is
	// left even if this process is killed; that thread must therefore live as long as the run.
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

// environment is the launch variables of one rank on top of this process's. The secret keeps other
// processes of this machine out of the job: it goes by the environment, which nobody else can read.
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

// arguments is the program's command line.
func (o *Options) arguments() []string {
	if o.Timeout == 0 {
		return o.Args
	}
	seconds := strconv.FormatFloat(o.Timeout.Seconds(), 'f', -1, 64)
	return append([]string{"--timeout", seconds}, o.Args...)
}

// grace is how long the survivors of a failure may go on: long enough to reach their
// own deadline if that is near.
func (o *Options) grace() time.Duration {
	switch {
	case o.Grace > 0:
		return o.Grace
	case o.Timeout > 0:
		return min(o.Timeout+time.Second, defaultGrace)
	}
	return defaultGrace
}
