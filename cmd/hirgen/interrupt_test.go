package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain runs hirgen instead of the tests in a process that a test has started: see the function process.
func TestMain(m *testing.M) {
	if os.Getenv("HIRGEN_TEST_MAIN") != "" {
		main()
	}
	os.Exit(m.Run())
}

// process returns the command hirgen with some arguments as another process, which lives for at most a minute.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(stop)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), "HIRGEN_TEST_MAIN=1")
	return cmd
}

// TestFirstSignalEnds sends one signal to a command that has nothing to clean up. The signal, not hirgen, ends the
// process, so that a shell sees 128 + the number of the signal.
func TestFirstSignalEnds(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd := process(t, "check", "-")
		stdin, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		// The text is longer than the buffer of a pipe, so hirgen has begun to read when this write ends.
		if _, err := stdin.Write(bytes.Repeat([]byte("# a comment\n"), 20_000)); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) {
			t.Fatalf("%v: %v", signal, err)
		}
		if status, ok := exit.Sys().(syscall.WaitStatus); !ok || status.Signal() != signal {
			t.Errorf("%v: %v", signal, exit)
		}
	}
}

// TestFirstSignalEndsRanks sends one signal to hirgen run, which ends both ranks and waits for what they print.
func TestFirstSignalEndsRanks(t *testing.T) {
	cmd := process(t, "run", "-n", "2", "--", "sh", "-c", `trap 'echo ended; exit' TERM; echo ready; while :; do sleep 0.05; done`)
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for range 2 {
		if !lines.Scan() || !strings.HasSuffix(lines.Text(), "ready") {
			t.Fatalf("%q, want a rank that is ready", lines.Text())
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var rest []string
	for lines.Scan() {
		rest = append(rest, lines.Text())
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != exitInterrupted || strings.Count(strings.Join(rest, "\n"), "ended") != 2 {
		t.Errorf("%v after %q", err, rest)
	}
}
