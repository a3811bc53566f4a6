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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends hirgen at once
	os.Exit(execute(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}
