package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// machineFile writes the machine file of h200 with one text replaced.
func machineFile(t *testing.T, from, to string) string {
	t.Helper()
	text, err := os.ReadFile("../../cost/machines/h200.json")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), from) {
		t.Fatalf("h200.json has no %q", from)
	}
	file := filepath.Join(t.TempDir(), "own.json")
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), from, to, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestCheckPredicts(t *testing.T) {
	ahead := []string{"check", example("ag_matmul_p2p"), "--schedule", "all.via=ipc-get", "--schedule", "all.lead=all"}
	own := machineFile(t, `"name": "h200"`, `"name": "mine"`)
	slow := machineFile(t, `"sustained_tflops": 702`, `"sustained_tflops": 70.2`)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"check", agMatmul}, "predicted on h200: "},
		{[]string{"check", agMatmul}, "spec.yaml:12:5 allgather of A: 4 x, "},
		{ahead, "3 x, "},
		{ahead, " 0.0 us exposed, "},
		{ahead, "hidden behind matmul into C ("},
		{ahead, "critical path: matmul into C ("},
		{[]string{"check", agMatmul, "--machine", "h100"}, "predicted on h100: "},
		{[]string{"check", agMatmul, "--machine", own}, "predicted on mine: "},
		{[]string{"check", agMatmul, "--machine", slow}, "ms a call"},
	} {
		if exit, text, stderr := hirgen(t, "", c.args...); exit != exitOK || !strings.Contains(text, c.want) {
			t.Errorf("%v: exit code %d, no %q in:\n%s%s", c.args, exit, c.want, text, stderr)
		}
	}
	fast, late := checked(t, "", agMatmul).Prediction, checked(t, "", agMatmul, "--machine", slow).Prediction
	if late.Time < 5*fast.Time {
		t.Errorf("with a tenth of the rate a call takes %v us, and %v else", late.Time, fast.Time)
	}
}

// TestAutoForAMachine checks that for a machine other than the measured one, auto uses no measurements, and does not
// choose ipc-get if reading from peers is slow.
func TestAutoForAMachine(t *testing.T) {
	auto := []string{example("ag_matmul_auto"), "-p", "D=2", "-p", "M=4096", "-p", "N=4096", "-p", "K=4096"}
	basis := func(more ...string) string { return checked(t, "", append(slices.Clone(auto), more...)...).Auto.Basis }
	if got := basis(); !strings.Contains(got, ": measured ") {
		t.Errorf("at a size that was measured it is %q", got)
	}
	own := machineFile(t, `"name": "h200"`, `"name": "mine"`)
	fast := basis("--machine", own)
	if !strings.HasPrefix(fast, "ag_matmul 4096 x 4096 x 4096, bf16, 2 ranks: predicted ") || !strings.Contains(fast, " on mine with ") {
		t.Errorf("for a machine of one's own it is %q", fast)
	}
	out := filepath.Join(t.TempDir(), "out")
	if exit, _, stderr := hirgen(t, "", slices.Concat([]string{"emit", "-o", out, "--machine", own}, auto)...); exit != exitOK {
		t.Fatal(stderr)
	}
	written, err := os.ReadFile(filepath.Join(out, "host_ir.txt"))
	if err != nil || !strings.Contains(string(written), " on mine with ") {
		t.Errorf("%v, and the emitted program was chosen otherwise:\n%s", err, written)
	}
	slow := machineFile(t, `"pull_gbps": [[1048576, 215], [8388608, 300], [67108864, 375]]`,
		`"pull_gbps": [[1048576, 2.5], [8388608, 3], [67108864, 3.75]]`)
	if got := basis("--machine", slow); strings.Contains(got, "via ipc-get") {
		t.Errorf("where reading from peers is slow it is %q", got)
	}
}

func TestCheckPredictsAsJSON(t *testing.T) {
	p := checked(t, "", agMatmul).Prediction
	sum := 0.0
	for _, share := range p.CriticalPath {
		sum += share.Time
	}
	if p.Machine != "h200" || p.Time <= 0 || p.Host <= 0 || sum < 0.999*p.Time || sum > 1.001*p.Time {
		t.Errorf("%+v, whose critical path takes %v", p, sum)
	}
	if len(p.Communications) != 1 {
		t.Fatalf("communications %+v", p.Communications)
	}
	c := p.Communications[0]
	if c.Name != "allgather of A" || c.Where != "spec.yaml:12:5" || c.Times != 4 || c.Exposed <= 0 || c.Hidden <= 0 ||
		len(c.Behind) != 1 || c.Behind[0].Name != "matmul into C" {
		t.Errorf("communication %+v", c)
	}
	if local := checked(t, "hirgen: 1\nname: p\ntensors: {A: [8]}\nops: [B = relu(A)]\n", "-").Prediction; local.Communications == nil ||
		len(local.Communications) != 0 {
		t.Errorf("communications of a local program: %v", local.Communications)
	}
}

// TestCheckRefusesWrongMachines checks the errors of unknown machines, and of machine files with a mistake.
func TestCheckRefusesWrongMachines(t *testing.T) {
	for _, c := range []struct {
		machine, want string
		exit          int
	}{
		{"h300", `there is no machine "h300": take b200, dgx_b200, dgx_h100, dgx_h200, h100, h200, or a file that --calibrate`, exitUsage},
		{"no/such.json", "no/such.json: no such file", exitEnvironment},
		{machineFile(t, `"sms": 132,`, `"sms": 132`), "own.json:5:3: invalid character", exitUsage},
		{machineFile(t, `"sms": 132,`, `"sms": "many",`), "own.json:4:", exitUsage},
		{machineFile(t, `"sms": 132,`, `"smx": 132,`), `unknown field "smx"`, exitUsage},
		{machineFile(t, `"sms": 132,`, ``), "sms is missing", exitUsage},
		{machineFile(t, `"hbm_gbps": [[33554432, 3100], `, `"hbm_gbps": [[336870912, 3100], `),
			"hbm_gbps is not a list of [bytes, GB/s] in ascending order", exitUsage},
		{machineFile(t, `"sustained_tflops": 702`, `"sustained_tflops": 0`), "gemm.", exitUsage},
	} {
		if exit, _, stderr := hirgen(t, "", "check", agMatmul, "--machine", c.machine); exit != c.exit || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit code %d, no %q in:\n%s", c.machine, exit, c.want, stderr)
		}
	}
}

func TestCheckWritesTheTimeline(t *testing.T) {
	file := filepath.Join(t.TempDir(), "predicted.json")
	if exit, _, stderr := hirgen(t, "", "check", agMatmul, "--trace", file); exit != exitOK {
		t.Fatalf("exit code %d:\n%s", exit, stderr)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var trace struct{ TraceEvents []map[string]any }
	if err := json.Unmarshal(text, &trace); err != nil {
		t.Fatal(err)
	}
	gathers := 0
	for _, e := range trace.TraceEvents {
		if e["ph"] == "X" && e["name"] == "allgather of A" {
			gathers++
		}
	}
	if gathers != 4*4 {
		t.Errorf("%d slices are the allgather, of 4 on each of 4 ranks", gathers)
	}
	if exit, _, stderr := hirgen(t, "", "check", agMatmul, "--trace", t.TempDir()); exit != exitEnvironment ||
		!strings.Contains(stderr, "is a directory") {
		t.Errorf("exit code %d:\n%s", exit, stderr)
	}
}
