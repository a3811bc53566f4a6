package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestBuildsForTheGPUsOfTheMachine checks that gpus.cmake chooses the architectures in CUDAARCHS, else those of the GPUs
// that nvidia-smi lists, else 9.0.
func TestBuildsForTheGPUsOfTheMachine(t *testing.T) {
	script, err := filepath.Abs("../../runtime_cpp/cmake/gpus.cmake")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ smi, variable, want string }{
		{"echo 9.0; echo 9.0", "", "90"},
		{"echo 8.0; echo 12.0; echo 8.0", "", "80;120"},
		{"echo Failed to initialize NVML: version mismatch 535.1; exit 18", "", "90"},
		{"exit 127", "", "90"},
		{"echo 8.0", "89;90", "89;90"},
	} {
		path := t.TempDir()
		if err := os.WriteFile(filepath.Join(path, "nvidia-smi"), []byte("#!/bin/sh\n"+c.smi+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		cmake := exec.CommandContext(t.Context(), "cmake", "-P", script)
		cmake.Env = append(os.Environ(), "PATH="+path+":"+os.Getenv("PATH"), "CUDAARCHS="+c.variable)
		out, err := cmake.CombinedOutput()
		if want := "CUDA architectures: " + c.want + "\n"; err != nil || !strings.HasSuffix(string(out), want) {
			t.Errorf("%+v: %v %s", c, err, out)
		}
	}
}
