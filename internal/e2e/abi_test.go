package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/launch"
)

// library is the library of a program, in its build folder.
type library struct {
	folder        folder
	program, name string
}

// client compiles a plain C program of testdata against the headers and libraries of programs. The library of the CPU
// device replaces CUDA's.
func client(t *testing.T, source string, libraries ...library) string {
	t.Helper()
	client := filepath.Join(t.TempDir(), "client")
	args := []string{"-std=c11", "-Wall", "-Wextra", "-Werror", "-o", client, filepath.Join("testdata", source)}
	for _, l := range libraries {
		built := filepath.Dir(l.program)
		args = append(args, "-I"+l.folder.dir(), "-I"+filepath.Join(l.folder.dir(), "runtime", "include"),
			"-I"+filepath.Join(l.folder.dir(), "runtime", "cpu", "include"),
			"-L"+built, "-l"+l.name, "-Wl,-rpath,"+built)
	}
	compile := exec.CommandContext(t.Context(), "cc", append(args, "-lhirgen_cpu", "-lpthread")...)
	if text, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return client
}

// TestCallsFromC runs a C program that owns its buffers and its stream on every rank.
func TestCallsFromC(t *testing.T) {
	program := shared.make(t, agMatmul(plain), params{"D": 2})
	caller := client(t, "client.c", library{shared, program, "hirgen_ag_matmul"})
	r := run(t, launch.Options{Program: caller, N: 2})
	if r.exit != 0 || strings.Count(r.stdout, "0 wrong of 3072") != 2 {
		t.Error(r)
	}
}

// TestCapturedCalls checks a client that captures calls into its own graphs, and launches the graphs between other calls. It
// captures before and after the first call, in which ranks share memory.
func TestCapturedCalls(t *testing.T) {
	for _, via := range []string{"nccl", "ipc-get", "ipc-put"} {
		program := exchanges.make(t, pointToPoint(t, "ag_matmul_p2p", via, "graph: true"), small("ag_matmul_p2p", 2))
		caller := client(t, "captured.c", library{exchanges, program, "hirgen_exchange"})
		for _, when := range [][]string{{"cold"}, {"warm"}, {"warm", "late"}} {
			t.Run(via+", "+strings.Join(when, ", "), func(t *testing.T) {
				for seed := range seedsOf(3) {
					r := run(t, launch.Options{Program: caller, N: 2, Args: when, Seed: seed})
					if r.exit != 0 || strings.Count(r.stdout, "right\n") != 2 {
						t.Fatal(r)
					}
				}
			})
		}
	}
}

// TestTransportFromC checks that a library with several transports reports the one that it uses.
func TestTransportFromC(t *testing.T) {
	spec := pointToPoint(t, "ag_matmul_p2p", "auto")
	program := exchanges.make(t, spec, small("ag_matmul_p2p", 2))
	caller := client(t, "transport.c", library{exchanges, program, "hirgen_exchange"})
	for asked, want := range map[string]string{"auto": "ipc-get", "nccl": "nccl"} {
		t.Setenv("HIRGEN_TRANSPORT", asked)
		r := run(t, launch.Options{Program: caller, N: 2})
		if r.exit != 0 || strings.Count(r.stdout, "transport "+want+"\n") != 2 {
			t.Errorf("asked for %s: %s", asked, r)
		}
	}
}

// TestMemoryThatIPCCannotShare checks that CUDA IPC shares only memory of cudaMalloc. If other ranks access tensors of
// the caller in other memory, each call copies them, and a line on standard error says so.
func TestMemoryThatIPCCannotShare(t *testing.T) {
	for via, spec := range map[string]string{"auto": "ag_matmul_p2p", "ipc-put": "allgather_p2p"} { // an input, and an output
		program := exchanges.make(t, pointToPoint(t, spec, via), small(spec, 4))
		caller := client(t, "pool.c", library{exchanges, program, "hirgen_exchange"})
		for seed := range int64(4) {
			r := run(t, launch.Options{Program: caller, N: 4, Seed: seed})
			if r.exit != 0 || strings.Count(r.stdout, "0 results differ, of values other than 0\n") != 4 {
				t.Errorf("%s: %s", via, r)
			}
			for _, rank := range []string{"rank 0", "rank 1", "rank 3"} {
				if !strings.Contains(r.stderr, " is copied in each call ("+rank+"): ") {
					t.Errorf("%s: nothing says that %s copies: %s", via, rank, r)
				}
			}
		}
	}
}
