package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/launch"
)

// TestCallsFromC builds a plain C program against the emitted header and library and
// runs it on every rank.
func TestCallsFromC(t *testing.T) {
	program := shared.make(t, agMatmul(plain), params{"D": 2})
	libraries := filepath.Dir(program)
	client := filepath.Join(t.TempDir(), "client")
	compile := exec.CommandContext(t.Context(), "cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-o", client,
		filepath.Join("testdata", "client.c"),
		"-I"+shared.dir(), "-I"+filepath.Join(shared.dir(), "runtime", "include"),
		"-I"+filepath.Join(shared.dir(), "runtime", "cpu", "include"),
		"-L"+libraries, "-lhirgen_ag_matmul", "-Wl,-rpath,"+libraries)
	if text, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	r := run(t, launch.Options{Program: client, N: 2})
	if r.exit != 0 || strings.Count(r.stdout, "0 wrong of 3072") != 2 {
		t.Error(r)
	}
}
