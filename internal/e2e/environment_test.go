package e2e

import (
	"bytes"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/launch"
)

// start runs the program directly, without the launcher, with only these variables and PATH. Every
// wait ends after 3 s.
func start(t *testing.T, program string, env ...string) (exit int, stderr string) {
	t.Helper()
	return startWithin(t, 3, program, env...)
}

// startWithin is start with a bound, in seconds, of every wait.
func startWithin(t *testing.T, seconds int, program string, env ...string) (exit int, stderr string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, "--timeout", strconv.Itoa(seconds))
	cmd.Env = append([]string{"PATH=/usr/bin:/bin"}, env...)
	var output bytes.Buffer
	cmd.Stderr = &output
	_ = cmd.Run()
	return cmd.ProcessState.ExitCode(), output.String()
}

func TestLaunchVariablesAreRequiredAndConsistent(t *testing.T) {
	program := shared.make(t, agMatmul(plain), params{"D": 2})
	for _, c := range []struct {
		name string
		env  []string
		want []string // texts in the message
	}{
		{"none", nil, []string{"hirgen run", "torchrun"}},
		{"half a family", []string{"RANK=0"}, []string{"WORLD_SIZE"}},
		{"rank not a number", []string{"HIRGEN_RANK=one", "HIRGEN_WORLD=2", "HIRGEN_LOCAL_RANK=0"}, []string{"HIRGEN_RANK"}},
		{"rank beyond the world", []string{"HIRGEN_RANK=2", "HIRGEN_WORLD=2", "HIRGEN_LOCAL_RANK=0"}, []string{"2"}},
		{"wrong world", []string{"HIRGEN_RANK=0", "HIRGEN_WORLD=3", "HIRGEN_LOCAL_RANK=0"}, []string{"3", "2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			exit, stderr := start(t, program, c.env...)
			if exit != 3 && exit != 2 {
				t.Errorf("exit code %d, want that of a usage or environment error", exit)
			}
			for _, want := range c.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("no %q in:\n%s", want, stderr)
				}
			}
		})
	}
}

func TestWrongNumberOfRanks(t *testing.T) {
	program := shared.make(t, agMatmul(plain), params{"D": 2})
	r := run(t, launch.Options{Program: program, N: 3})
	if r.exit == 0 || !strings.Contains(r.stderr, "2") || !strings.Contains(r.stderr, "3") {
		t.Errorf("want a message with both numbers of ranks: %s", r)
	}
}

// TestMissingRankIsNamed starts only one rank of two. Its error names the other rank.
func TestMissingRankIsNamed(t *testing.T) {
	program := shared.make(t, agMatmul(plain), params{"D": 2})
	port, release, err := launch.ReservePort()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	exit, stderr := start(t, program, "HIRGEN_RANK=0", "HIRGEN_WORLD=2", "HIRGEN_LOCAL_RANK=0",
		"HIRGEN_ADDR=127.0.0.1", "HIRGEN_PORT="+strconv.Itoa(port))
	if exit == 0 || !strings.Contains(stderr, "rank 1") {
		t.Errorf("exit code %d:\n%s", exit, stderr)
	}
}

// TestPortTaken gives rank 0 a port that another program listens on.
func TestPortTaken(t *testing.T) {
	program := shared.make(t, agMatmul(plain), params{"D": 2})
	port := occupiedPort(t)
	exit, stderr := start(t, program, "HIRGEN_RANK=0", "HIRGEN_WORLD=2", "HIRGEN_LOCAL_RANK=0",
		"HIRGEN_ADDR=127.0.0.1", "HIRGEN_PORT="+port)
	if exit != 3 || !strings.Contains(stderr, port) {
		t.Errorf("exit code %d:\n%s", exit, stderr)
	}
}

// occupiedPort listens on a port for as long as the test runs, and returns its number.
func occupiedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
