// Command hirgen turns the description of a multi-GPU pipeline into a standalone CUDA
// C++ program. Run "hirgen --help".
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

func main() {
	debug.SetGCPercent(400) // the heap is small and short-lived: with Go's default, check takes a fifth longer
	os.Exit(execute(context.Background(), os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// interruptible returns a context that the first SIGINT, SIGTERM or SIGHUP cancels, for commands that must end the programs that
// they started, and while --watch waits. A second signal ends hirgen at once. Other commands do not handle signals, so
// the first one ends them. They have nothing to clean up: the next emit.Write undoes an interrupted one, and the tools
// that doctor starts have a time limit.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
