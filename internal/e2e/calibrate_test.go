package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/internal/tools/launch"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/lowering/hostir/text"
)

// TestCalibrateDescribesTheMachine checks that --calibrate writes a machine that predictions accept. On the CPU device
// its figures mean little.
func TestCalibrateDescribesTheMachine(t *testing.T) {
	spec, values := example(t, "../../testdata/specs/ag_matmul_p2p/spec.yaml", row(2))
	program := examples.make(t, spec, values)
	file := filepath.Join(t.TempDir(), "machine.json")
	if r := run(t, launch.Options{Program: program, N: 2, Args: []string{"--calibrate", file}}); r.exit != 0 {
		t.Fatal(r)
	}
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	m, err := cost.ParseMachine(file, written)
	if err != nil {
		t.Fatalf("%v in:\n%s", err, written)
	}
	var ranks []int
	for _, row := range m.NCCL.Teams {
		ranks = append(ranks, row.Ranks)
	}
	if !slices.Equal(ranks, []int{2}) || len(m.GEMM) != 3 || len(m.Links.Pull) < 2 || m.Device.Event <= 0 || m.Host.Kernel <= 0 ||
		!strings.Contains(string(written), `"row_scales_apart": false`) || !strings.HasSuffix(m.Source, "; GEMMs by cuBLASLt") {
		t.Errorf("not all of the machine is described:\n%s", written)
	}
	p, err := text.Parse("host_ir.txt", examples.source(t, "host_ir.txt"))
	if err != nil {
		t.Fatal(err)
	}
	called, err := lowering.Calls(p, lowering.Options{})
	if err != nil {
		t.Fatal(err)
	}
	predicted, err := cost.Predict(called.Programs(), m)
	if err != nil || predicted.Total <= 0 {
		t.Errorf("a call is predicted to take %v us: %v", predicted, err)
	}
}

// TestCalibrateNeedsPeers checks that --calibrate refuses to run on one rank, which has no links to measure.
func TestCalibrateNeedsPeers(t *testing.T) {
	spec, values := example(t, "../../testdata/specs/ag_matmul_p2p/spec.yaml", row(1))
	program := examples.make(t, spec, values)
	r := run(t, launch.Options{Program: program, N: 1, Args: []string{"--calibrate", filepath.Join(t.TempDir(), "machine.json")}})
	if r.exit != 2 {
		t.Error(r)
	}
}

// TestPredictionsAreTraces checks that the predicted calls of a rank are those that its program issues. Event
// records and waits do not count: a prediction has no records, and a program omits waits that others imply.
func TestPredictionsAreTraces(t *testing.T) {
	m, err := cost.LoadMachine("h200")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mlp_tp", "ag_matmul"} {
		spec, values := example(t, "../../testdata/specs/"+name+"/spec.yaml", row(2))
		examples.emit(t, spec, values)
		p, err := text.Parse("host_ir.txt", examples.source(t, "host_ir.txt"))
		if err != nil {
			t.Fatal(err)
		}
		called, err := lowering.Calls(p, lowering.Options{})
		if err != nil {
			t.Fatal(err)
		}
		predicted, err := cost.Predict(called.Programs(), m)
		if err != nil {
			t.Fatal(err)
		}
		got, want := map[string]int{}, expected(t, called.Program, 0)
		for _, c := range predicted.Calls {
			if c.Rank == 0 {
				call := c.Kind.String() + " " + c.Name
				if sent, _, found := strings.Cut(call, "send "); found {
					call = sent + "send"
				}
				got[call]++
			}
		}
		ofEvents := func(call string, _ int) bool { return strings.HasPrefix(call, "event ") }
		maps.DeleteFunc(want, ofEvents)
		maps.DeleteFunc(got, ofEvents)
		if !maps.Equal(got, want) {
			t.Errorf("%s is predicted to call %v, and calls %v", name, got, want)
		}
	}
}
