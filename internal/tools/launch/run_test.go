package launch

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// script writes a shell script that replaces an emitted program.
func script(t *testing.T, body string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// run runs the script and returns the exit code with both outputs.
func run(t *testing.T, ctx context.Context, options Options) (exit int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	options.Stdout, options.Stderr = &out, &err
	exit, runErr := Run(ctx, options)
	if runErr != nil {
		t.Fatal(runErr)
	}
	return exit, out.String(), err.String()
}

func TestRanksGetTheirLaunchVariables(t *testing.T) {
	program := script(t, `echo "$HIRGEN_RANK/$HIRGEN_WORLD/$HIRGEN_LOCAL_RANK $HIRGEN_ADDR:$HIRGEN_PORT seed=$HIRGEN_CPU_SEED args=$*"`)
	exit, stdout, _ := run(t, t.Context(), Options{
		Program: program, N: 2, Seed: 7, Timeout: 1500 * time.Millisecond, Args: []string{"--iters", "3"},
	})
	if exit != 0 {
		t.Errorf("exit code %d", exit)
	}
	ports := map[string]bool{}
	for rank, prefix := range []string{"0/2/0 127.0.0.1:", "[1] 1/2/1 127.0.0.1:"} {
		_, rest, found := strings.Cut(stdout, prefix)
		if !found {
			t.Fatalf("rank %d: no %q in\n%s", rank, prefix, stdout)
		}
		port, rest, _ := strings.Cut(rest, " ")
		ports[port] = true
		if want := "seed=7 args=--timeout 1.5 --iters 3\n"; !strings.HasPrefix(rest, want) {
			t.Errorf("rank %d: got %q, want %q", rank, rest, want)
		}
	}
	if len(ports) != 1 {
		t.Errorf("the ranks have different ports: %v", ports)
	}
}

// TestRanksShareASecretOfTheirRun checks that the ranks of one run share a secret that no other run has, whatever
// the launcher's own environment contains.
func TestRanksShareASecretOfTheirRun(t *testing.T) {
	t.Setenv("HIRGEN_JOB_SECRET", "of another job")
	program := script(t, `echo "secret=$HIRGEN_JOB_SECRET" >&2`)
	seen := map[string]int{}
	for range 2 {
		_, _, stderr := run(t, t.Context(), Options{Program: program, N: 3})
		for line := range strings.Lines(stderr) {
			_, secret, _ := strings.Cut(strings.TrimSpace(line), "secret=")
			seen[secret]++
		}
	}
	if len(seen) != 2 {
		t.Errorf("two runs have the secrets %v", seen)
	}
	for secret, ranks := range seen {
		if ranks != 3 || len(secret) < 22 {
			t.Errorf("%d ranks have the secret %q", ranks, secret)
		}
	}
}

func TestOutputIsPrefixedByLine(t *testing.T) {
	program := script(t, `[ $HIRGEN_RANK = 0 ] && printf 'table' ; printf 'one\ntwo' >&2`)
	_, stdout, stderr := run(t, t.Context(), Options{Program: program, N: 2})
	if stdout != "table\n" {
		t.Errorf("rank 0's standard output is the report and passes as it is, got %q", stdout)
	}
	for _, want := range []string{"[0] one\n", "[0] two\n", "[1] one\n", "[1] two\n"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("no %q in %q", want, stderr)
		}
	}
	_, _, stderr = run(t, t.Context(), Options{Program: program, N: 1})
	if stderr != "one\ntwo\n" {
		t.Errorf("one rank alone needs no prefix, got %q", stderr)
	}
}

func TestWorstExitCodeWins(t *testing.T) {
	program := script(t, `exit $HIRGEN_RANK`)
	exit, _, stderr := run(t, t.Context(), Options{Program: program, N: 6})
	if exit != 4 || !strings.Contains(stderr, "rank 5 exited with code 5 (another rank failed)") {
		t.Errorf("exit code %d, output:\n%s", exit, stderr)
	}
}

// TestTheCauseWinsOverItsEcho runs a rank that fails, early or late, and other ranks that exit with code 5 because of
// it. The run must end with the exit code of the failed rank. If all ranks exit with code 5, it must end with 5.
func TestTheCauseWinsOverItsEcho(t *testing.T) {
	for _, c := range []struct {
		body string
		want int
	}{
		{`[ $HIRGEN_RANK = 0 ] && exit 3; sleep 0.1; exit 5`, 3},
		{`[ $HIRGEN_RANK = 1 ] && { sleep 0.2; exit 3; }; exit 5`, 3},
		{`[ $HIRGEN_RANK = 1 ] && exit 2; [ $HIRGEN_RANK = 2 ] && exit 0; exit 5`, 2},
		{`exit 5`, 5},
	} {
		if exit, _, stderr := run(t, t.Context(), Options{Program: script(t, c.body), N: 3}); exit != c.want {
			t.Errorf("%s: exit code %d, want %d:\n%s", c.body, exit, c.want, stderr)
		}
	}
}

func TestSignalIsNamed(t *testing.T) {
	program := script(t, `[ $HIRGEN_RANK = 1 ] && kill -SEGV $$; exit 5`)
	exit, _, stderr := run(t, t.Context(), Options{Program: program, N: 2})
	if exit != 128+int(syscall.SIGSEGV) || !strings.Contains(stderr, "rank 1 was killed by signal 11 (segmentation fault)") {
		t.Errorf("exit code %d, output:\n%s", exit, stderr)
	}
}

func TestSurvivorsMayReportThenAreStopped(t *testing.T) {
	program := script(t, `
case $HIRGEN_RANK in
0) exit 4 ;;
1) sleep 0.2; echo "rank 0 is gone" >&2; exit 5 ;;
2) trap "" TERM; while :; do sleep 0.1; done ;;
3) kill -STOP $$ ;;
esac`)
	start := time.Now()
	exit, _, stderr := run(t, t.Context(), Options{Program: program, N: 4, Grace: time.Second})
	if exit != 4 {
		t.Errorf("exit code %d, want 4: ranks that the launcher stopped do not count", exit)
	}
	for _, want := range []string{"[1] rank 0 is gone", "rank 2 was stopped", "rank 3 was stopped"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("no %q in:\n%s", want, stderr)
		}
	}
	if took := time.Since(start); took > 8*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestCancelKillsTheWholeGroup(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	program := script(t, `sleep 600 & echo $! > `+pidFile+`; wait`)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if text, err := os.ReadFile(pidFile); err == nil && len(text) > 0 {
				break
			}
		}
		cancel()
	}()
	exit, _, _ := run(t, ctx, Options{Program: program, N: 1})
	if exit != interrupted {
		t.Errorf("exit code %d, want %d", exit, interrupted)
	}
	text, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for range 200 {
		if !alive(pid) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d, which the rank had started, is still there", pid)
}

// alive reports whether a process runs; a zombie that init has yet to reap does not.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// TestForeignExitCodesHaveNoMeaning checks that the launcher prints no meaning for the exit code of a program that
// hirgen did not emit.
func TestForeignExitCodesHaveNoMeaning(t *testing.T) {
	exit, _, stderr := run(t, t.Context(), Options{Program: script(t, `exit 3`), Foreign: true, N: 1})
	if exit != 3 || stderr != "hirgen run: rank 0 exited with code 3\n" {
		t.Errorf("exit code %d, output:\n%s", exit, stderr)
	}
}

func TestRunNamesAProgramThatCannotStart(t *testing.T) {
	_, err := Run(t.Context(), Options{Program: "/nowhere/program", N: 2, Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}})
	if err == nil || !strings.Contains(err.Error(), "starting rank 0") {
		t.Errorf("got %v", err)
	}
}
