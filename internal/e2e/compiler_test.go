package e2e

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// quick are the compiler flags of these tests: little optimisation, because programs run for less time than they
// compile, and checks of every index into a vector or an array. The CPU device reads a thread-local variable at each
// access of a kernel. Without the last two flags and the flag in fewer, these reads take a third of a run.
const quick = "-O1 -D_GLIBCXX_ASSERTIONS -ftls-model=initial-exec -fno-plt"

// fewer is a flag of GCC: functions that are instrumented for their accesses do not report their beginning and end.
const fewer = " --param tsan-instrument-func-entry-exit=0"

// standardHeaders are the standard headers that emitted programs and the runtime's headers include.
var standardHeaders = []string{
	"algorithm", "array", "atomic", "cmath", "cstdint", "cstring", "functional", "list", "map", "memory",
	"optional", "stdexcept", "string", "string_view", "utility", "vector",
}

// programHeaders are headers of the runtime that most emitted programs include.
var programHeaders = []string{
	"hirgen/abi.hpp", "hirgen/ipc.hpp", "hirgen/matmul.hpp", "hirgen/mesh.hpp", "hirgen/program.hpp", "hirgen/reference.hpp",
}

// compilerFlags returns quick and, with GCC, fewer and a precompiled header, because headers are most of the work of
// compiling a program. A second precompiled header, for code that is instrumented as emitted programs are, also has
// programHeaders: GCC recognizes the copies in emitted folders by their content. For flags that fit neither precompiled
// header, as for main.cpp of the executable, GCC uses the header itself, which is empty. Programs thus compile here
// even if they lack an include. The sources in generated/ are compiled elsewhere, with CUDA's headers and without
// precompiled headers.
var compilerFlags = sync.OnceValues(func() (string, error) {
	compiler := cmp.Or(os.Getenv("CXX"), "c++")
	version, err := exec.Command(compiler, "--version").Output()
	if err != nil || strings.Contains(string(version), "clang") {
		return quick, err
	}
	header := filepath.Join(scratch, "precompiled.hpp")
	if err := cmp.Or(os.WriteFile(header, nil, 0o600), os.MkdirAll(header+".gch", 0o700)); err != nil { // GCC takes the file in it that fits
		return "", err
	}
	for name, own := range map[string][]string{"plain": nil, "observed": programHeaders} {
		headers := filepath.Join(scratch, name+".hpp")
		includes := "#include <" + strings.Join(slices.Concat(standardHeaders, own), ">\n#include <") + ">\n"
		if err := os.WriteFile(headers, []byte(includes), 0o600); err != nil {
			return "", err
		}
		args := append(strings.Fields(quick+fewer), "-I../../runtime_cpp/include", "-I../../runtime_cpp/cpu/include",
			"-std=c++20", "-fPIC", "-fvisibility=hidden", "-x", "c++-header", headers, "-o", filepath.Join(header+".gch", name))
		if own != nil {
			args = append(args, "-fsanitize=thread")
		}
		if text, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("precompiling headers: %w\n%s", err, text)
		}
	}
	return quick + fewer + " -include " + header, nil
})
