package emit_test

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// lineLimits are the largest numbers of lines of NAME.cpp, NAME.hpp and the files of kernels together.
var lineLimits = map[string]int{
	"ag_matmul": 160, "matmul_rs_p2p": 230, "matmul_ar_p2p": 280, "matmul_ar_sub_chunks": 280, "mlp_tp": 250,
	"transformer_block": 395, "transformer_block_backward": 650,
}

// TestProgramsAreShort counts the lines of examples, and checks that they still show the calls of CUDA and
// cuBLASLt.
func TestProgramsAreShort(t *testing.T) {
	for name, limit := range lineLimits {
		lines, source := 0, ""
		for _, f := range render(t, loadExample(t, name)) {
			ending := filepath.Ext(f.Path)
			if base := strings.TrimSuffix(f.Path, ending); (base != name || ending == ".h") && base != name+"_kernels" {
				continue
			}
			text := string(f.Data)
			lines, source = lines+strings.Count(text, "\n"), source+text
			for line := range strings.Lines(text) {
				if width := utf8.RuneCountInString(strings.TrimRight(line, "\n")); width > 110 {
					t.Errorf("%s: %d columns: %s", f.Path, width, line)
				}
			}
		}
		if lines == 0 || lines > limit {
			t.Errorf("%s has %d lines, and %d are the limit", name, lines, limit)
		}
		for _, call := range []string{"cudaEventRecord(", "cudaStreamWaitEvent(", "cublasLtMatmul("} {
			// A program without compute streams may have no waits for other streams.
			if !strings.Contains(source, call) && (call != "cudaStreamWaitEvent(" || strings.Contains(source, "compute_")) {
				t.Errorf("%s does not show its call of %s", name, call)
			}
		}
	}
}

// TestEventsHaveNamesOfTheirOwn checks that event names are unique, because the watchdog's table lists an event
// only by name.
func TestEventsHaveNamesOfTheirOwn(t *testing.T) {
	for _, name := range folders(t, specsDir) {
		for _, f := range render(t, loadExample(t, name)) {
			seen := map[string]bool{}
			for line := range strings.Lines(string(f.Data)) {
				_, after, found := strings.Cut(line, "context_.events(\"")
				label, _, _ := strings.Cut(after, "\"")
				if found && seen[label] {
					t.Errorf("%s of %s has two sets of events named %s", f.Path, name, label)
				}
				seen[label] = found
			}
		}
	}
}
