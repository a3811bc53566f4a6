package lowering

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/model"
)

// TestFallback lowers point-to-point pipelines with transport: auto. The result has to have a fallback variant. Its
// first variant has to be the same program as with via set to the preferred transport.
func TestFallback(t *testing.T) {
	const fields = "pipeline: p2p, streams: 2, "
	for spec, preferred := range map[string]string{
		"ag_matmul_p2p": "ipc-get", "ag_linear_p2p": "ipc-get", "allgather_p2p": "ipc-get",
		"matmul_rs_p2p": "ipc-put", "matmul_ar_p2p": "ipc-put",
	} {
		lowered := func(more, all string) *hostir.Program {
			return lowerScheduled(t, spec, "{"+fields+more+"all: {lead: all, copy: sm, signals: batched"+all+"}}")
		}
		both := lowered("transport: auto, ", "")
		if both.Fallback == nil {
			t.Errorf("%s: there is no fallback variant", spec)
			continue
		}
		both.Fallback = nil
		if want := anywhere(text.Print(lowered("", ", via: "+preferred))); anywhere(text.Print(both)) != want {
			t.Errorf("%s: over CUDA IPC it is\n%s\nnot\n%s", spec, text.Print(both), want)
		}
	}
}

// anywhere returns the text of a program without its choices.
func anywhere(program string) string {
	return regexp.MustCompile(`(?m)^choices .*$`).ReplaceAllString(program, "choices")
}

// lowerScheduled lowers an example at small sizes on four ranks, with another schedule.
func lowerScheduled(t *testing.T, spec, chosen string) *hostir.Program {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("..", "testdata", "specs", spec, "spec.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	params := map[string]int64{"D": 4, "M": 32, "N": 16, "K": 16}
	if spec == "allgather_p2p" {
		delete(params, "N")
	}
	source = regexp.MustCompile(`(?m)^schedule:.*$`).ReplaceAll(source, []byte("schedule: "+chosen))
	p, err := model.Load("spec.yaml", source, params)
	if err != nil {
		t.Fatal(err)
	}
	program, err := Host(p, Options{Verify: true})
	if err != nil {
		t.Fatal(err)
	}
	return program
}
