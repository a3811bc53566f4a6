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

// quick is how programs are compiled here: with little optimisation, as they run for less time than
// they compile, and with checks of every index into a vector or an array. The device looks into a variable of the thread
// at each access of a kernel: without these two flags and the one below that takes a third of a run's time.
const quick = "-O1 -D_GLIBCXX_ASSERTIONS -ftls-model=initial-exec -fno-plt"

// fewer are flags of GCC: code that shows its accesses calls nothing when a function begins and ends.
const fewer = " --param tsan-instrument-func-entry-exit=0"

// standardHeaders are those that emitted programs and the runtime's headers include.
var standardHeaders = []string{
	"algorithm", "array", "atomic", "cmath", "cstdint", "cstring", "functional", "list", "map", "memory",
	"optional", "stdexcept", "string", "string_view", "utility", "vector",
}

// compilerFlags are quick and, with GCC, a precompiled header of the standard library, which is half of
// what there is to compile in a program. Where it does not fit, as for the executable's main.cpp, GCC
// takes the header itself, which is empty. A program that lacks an include is compiled all the same;
// those under generated/ are compiled with CUDA's headers and without this one.
var compilerFlags = sync.OnceValues(func() (string, error) {
	compiler := cmp.Or(os.Getenv("CXX"), "c++")
	version, err := exec.Command(compiler, "--version").Output()
	if err != nil || strings.Contains(string(version), "clang") {
		return quick, err
	}
	header, headers := filepath.Join(scratch, "precompiled.hpp"), filepath.Join(scratch, "standard.hpp")
	includes := "#include <" + strings.Join(standardHeaders, ">\n#include <") + ">\n"
	if err := cmp.Or(os.WriteFile(header, nil, 0o600), os.WriteFile(headers, []byte(includes), 0o600)); err != nil {
		return "", err
	}
	if err := os.MkdirAll(header+".gch", 0o700); err != nil { // GCC takes the file in it that fits
		return "", err
	}
	for name, flags := range map[string][]string{"plain": nil, "observed": {"-fsanitize=thread"}} {
		args := slices.Concat(strings.Fields(quick+fewer), flags, []string{
			"-std=c++20", "-fPIC", "-fvisibility=hidden", "-x", "c++-header", headers, "-o", filepath.Join(header+".gch", name),
		})
		if text, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("precompiling headers: %w\n%s", err, text)
		}
	}
	return quick + fewer + " -include " + header, nil
})
