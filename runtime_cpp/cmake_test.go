package runtime_cpp

import (
	"os"
	"os/exec"
	"path/filepath"
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

// TestFindCudnnNamesWhatIsMissing checks that FindCudnn says which header it has not found.
func TestFindCudnnNamesWhatIsMissing(t *testing.T) {
	folder := t.TempDir() // without ../third_party, which has the headers of the frontend
	module, err := os.ReadFile("cmake/FindCudnn.cmake")
	if err != nil {
		t.Fatal(err)
	}
	script := "list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})\nfind_package(Cudnn QUIET)\n" +
		"message(STATUS \"found: ${Cudnn_FOUND}; missing: ${CUDNN_MISSING}\")\n"
	for name, text := range map[string]string{"FindCudnn.cmake": string(module), "script.cmake": script, "cudnn_frontend.h": ""} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for want, variables := range map[string][]string{ // CMake does not search for a variable that is empty
		"found: FALSE; missing: cudnn.h ":          {"-DCUDNN_INCLUDE_DIR=", "-DCUDNN_FRONTEND_ROOT=" + folder},
		"found: FALSE; missing: cudnn_frontend.h ": {"-DCUDNN_INCLUDE_DIR=" + folder},
		"found: TRUE; missing: \n":                 {"-DCUDNN_INCLUDE_DIR=" + folder, "-DCUDNN_FRONTEND_ROOT=" + folder},
	} {
		cmake := exec.Command("cmake", append(variables, "-P", filepath.Join(folder, "script.cmake"))...)
		cmake.Env = append(os.Environ(), "CUDNN_FRONTEND_ROOT=")
		if output, err := cmake.CombinedOutput(); err != nil || !strings.Contains(string(output), want) {
			t.Errorf("%v: %s has no %q", err, output, want)
		}
	}
}
