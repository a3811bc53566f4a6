package runtime_cpp

import (
	"os/exec"
	"strings"
	"testing"
)

// TestProgramForGPUsIsRefused checks that CMakeLists.txt, which compiles kernels of an emitted program as C++, does not
// configure one for GPUs.
func TestProgramForGPUsIsRefused(t *testing.T) {
	output, err := exec.Command("cmake", "-S", ".", "-B", t.TempDir(), "-DHIRGEN_DEVICE=cuda", "-DHIRGEN_PROGRAM=out").CombinedOutput()
	if !strings.Contains(string(output), "HIRGEN_PROGRAM needs HIRGEN_DEVICE=cpu") {
		t.Errorf("%v: %s", err, output)
	}
}
