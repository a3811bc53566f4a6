package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/internal/tools/launch"
)

// chosen is the algorithm of a GEMM in a report.
type chosen struct {
	Gemm       string         `json:"gemm"`
	Source     string         `json:"source"`
	Attributes map[string]int `json:"attributes"`
}

// TestAlgorithmsAreTunedAndShipped runs a program with a CUDA graph. For its GEMM, cuBLASLt's first guess is slow: --tune
// finds a faster algorithm and writes it to a file. The next run takes the algorithm from the file without a search.
func TestAlgorithmsAreTunedAndShipped(t *testing.T) {
	captured := plain
	captured.graph = true
	program := shared.make(t, agMatmul(captured), params{"D": 2, "S": 2, "M": 128, "N": 24, "K": 32})
	dir := t.TempDir()
	plans, report := filepath.Join(dir, "plans.json"), filepath.Join(dir, "report.json")
	for _, c := range []struct {
		args   []string
		source string
		id     int
	}{
		{nil, "heuristic", 3},
		{[]string{"--tune", "--plans", plans}, "tuned", 0},
		{[]string{"--plans", plans}, "file", 0},
	} {
		r := run(t, launch.Options{
			Program: program, N: 2, Env: []string{"HIRGEN_CPU_ALGORITHMS=3,0"},
			Args: append([]string{"--iters", "2", "--repeats", "1", "--json", report}, c.args...),
		})
		r.mustPass(t)
		if r.stderr != "" {
			t.Errorf("%v: %s", c.args, r)
		}
		got := readChosen(t, report)
		if len(got) != 1 || got[0].Source != c.source || got[0].Attributes["id"] != c.id {
			t.Errorf("%v: the report has %+v, want one GEMM whose algorithm is %d by %s", c.args, got, c.id, c.source)
		}
		if len(got) == 1 && !strings.HasPrefix(got[0].Gemm, "C[64, 24] = A[64, 32] B[32, 24]") {
			t.Errorf("the GEMM is %q", got[0].Gemm)
		}
	}
}

// readChosen reads the algorithms of a report.
func readChosen(t *testing.T, path string) []chosen {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var report struct{ Plans []chosen }
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	return report.Plans
}
