package e2e

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// exports returns the symbols that a library exports, weak ones included.
func exports(t *testing.T, library string) []string {
	t.Helper()
	text, err := exec.CommandContext(t.Context(), "nm", "-D", "--defined-only", "--format=posix", library).Output()
	if err != nil {
		t.Fatal(err)
	}
	var symbols []string
	for line := range strings.Lines(string(text)) {
		symbols = append(symbols, strings.Fields(line)[0])
	}
	return symbols
}

// TestExports checks that a program's library exports the functions of its header and nothing else, and the CPU device
// exports the functions of CUDA's libraries and its own for kernels.
func TestExports(t *testing.T) {
	program := shared.make(t, agMatmul(plain), params{"D": 2})
	folder := filepath.Dir(program)

	var declared []string
	for _, match := range regexp.MustCompile(`\bHIRGEN_EXPORT .*?\b(hirgen_\w+)\(`).
		FindAllStringSubmatch(shared.source(t, "ag_matmul.h"), -1) {
		declared = append(declared, match[1])
	}
	slices.Sort(declared)
	if got := exports(t, filepath.Join(folder, "libhirgen_ag_matmul.so")); !slices.Equal(got, declared) {
		t.Errorf("the program's library exports %d symbols, %q; its header declares %q", len(got), got, declared)
	}

	// The accesses of kernels are functions with a sanitizer's names (runtime_cpp/cpu/src/log/accesses.cpp).
	allowed := regexp.MustCompile(
		`^(cuda[A-Z]\w+|cu[A-Z]\w+|cublasLt[A-Z]\w+|nccl[A-Z]\w+|_Z\d+hirgen_cpu_(launch|misaligned|label)\w+|__tsan_\w+)$`)
	got := exports(t, filepath.Join(folder, "libhirgen_cpu.so"))
	for _, symbol := range got {
		if !allowed.MatchString(symbol) {
			t.Errorf("libhirgen_cpu.so exports %s", symbol)
		}
	}
	for _, want := range []string{"cudaMalloc", "ncclAllGather", "cublasLtMatmul"} {
		if !slices.Contains(got, want) {
			t.Errorf("libhirgen_cpu.so lacks %s", want)
		}
	}
}
