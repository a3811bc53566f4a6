package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hirgen/hirgen/emit"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/tools/launch"
)

// The exit codes of the commands; hirgen --help explains them. The command run also returns the exit codes of the
// ranks.
const (
	exitOK          = 0
	exitSpec        = 1
	exitUsage       = 2
	exitEnvironment = 3
	exitInternal    = 4
	exitNotProved   = 8
	exitEdited      = 9
	exitInterrupted = 130
)

// usageError is the error of an invalid command line.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func usagef(format string, args ...any) error {
	return &usageError{message: fmt.Sprintf(format, args...)}
}

// exitError ends a command with an exit code, without more output.
type exitError struct{ code int }

func (e *exitError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// report prints an error and returns its exit code. It prints nothing for nil, for an exitError and for an
// interruption.
func report(w io.Writer, cmd *cobra.Command, err error) int {
	var (
		spec        *specError
		usage       *usageError
		silent      *exitError
		environment *launch.EnvironmentError
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &silent):
		return silent.code
	case errors.As(err, &spec):
		diag.Render(w, spec.errors, spec.source)
		if spec.errors.Items[0].Code == diag.Unreadable {
			return exitEnvironment
		}
		return exitSpec
	case errors.As(err, &usage):
		fmt.Fprintf(w, "hirgen: %v\nSee: %s --help\n", err, cmd.CommandPath())
		return exitUsage
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &environment):
		if environment.Output != "" {
			fmt.Fprintln(w, strings.TrimRight(environment.Output, "\n"))
		}
		fmt.Fprintf(w, "hirgen: %v\n", err)
		return exitEnvironment
	case isEnvironment(err):
		fmt.Fprintf(w, "hirgen: %v\n", err)
		return exitEnvironment
	}
	fmt.Fprintf(w, "hirgen: internal error: %v\nThis is a mistake in hirgen; please report it with the spec.\n", err)
	return exitInternal
}

// isEnvironment reports whether the machine, not hirgen, causes an error: for example a file that cannot be read or
// written, a file that hirgen must not overwrite, or a full disk.
func isEnvironment(err error) bool {
	var (
		refusal *emit.RefusalError
		folder  *emit.FolderError
		path    *fs.PathError
		link    *os.LinkError
		sys     *os.SyscallError
		no      syscall.Errno
	)
	return errors.As(err, &refusal) || errors.As(err, &folder) || errors.As(err, &path) || errors.As(err, &link) || errors.As(err, &sys) ||
		errors.As(err, &no)
}

// reportPanic prints a panic as an internal error, and returns the exit code.
func reportPanic(w io.Writer, failure any) int {
	fmt.Fprintf(w, "hirgen: internal error: %v\n%s\nThis is a mistake in hirgen; please report it with the spec.\n",
		failure, debug.Stack())
	return exitInternal
}
