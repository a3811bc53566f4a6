package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/launch"
)

// client compiles a plain C program of testdata against a folder's header and library, where
// its program was built.
func (f folder) client(t *testing.T, source, program, library string) string {
	t.Helper()
	libraries := filepath.Dir(program)
	client := filepath.Join(t.TempDir(), "client")
	compile := exec.CommandContext(t.Context(), "cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-o", client,
		filepath.Join("testdata", source),
		"-I"+f.dir(), "-I"+filepath.Join(f.dir(), "runtime", "include"),
		"-I"+filepath.Join(f.dir(), "runtime", "cpu", "include"),
		"-L"+libraries, "-l"+library, "-lhirgen_cpu", "-Wl,-rpath,"+libraries)
	if text, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return client
}

// TestCallsFromC runs a C program that owns its buffers and its stream on every rank.
func TestCallsFromC(t *testing.T) {
	program := shared.make(t, agMatmul(plain), params{"D": 2})
	client := shared.client(t, "client.c", program, "hirgen_ag_matmul")
	r := run(t, launch.Options{Program: client, N: 2})
	if r.exit != 0 || strings.Count(r.stdout, "0 wrong of 3072") != 2 {
		t.Error(r)
	}
}

// TestTransportFromC: a library says which transport it has taken, of those that it has.
func TestTransportFromC(t *testing.T) {
	spec := pointToPoint(t, "ag_matmul_p2p", "auto", "in-place")
	program := exchanges.make(t, spec, small("ag_matmul_p2p", 2))
	client := exchanges.client(t, "transport.c", program, "hirgen_exchange")
	for asked, want := range map[string]string{"auto": "ipc-get", "nccl": "nccl"} {
		t.Setenv("HIRGEN_TRANSPORT", asked)
		r := run(t, launch.Options{Program: client, N: 2})
		if r.exit != 0 || strings.Count(r.stdout, "transport "+want+"\n") != 2 {
			t.Errorf("asked for %s: %s", asked, r)
		}
	}
}
