package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/internal/tools/launch"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

var update = flag.Bool("update", false, "rewrite testdata/")

// TestCases checks that Cases returns every combination in the order of the sweeps, and a baseline
// for each problem.
func TestCases(t *testing.T) {
	var sweeps []Sweep
	for _, text := range []string{"S=2,4", "all.via=nccl,ipc-get", "schedule=eager"} {
		s, err := ParseSweep(text)
		if err != nil {
			t.Fatal(err)
		}
		sweeps = append(sweeps, s)
	}
	list, err := Cases("a/spec.yaml", []string{"S", "M"}, map[string]int64{"M": 8}, []model.Setting{{Path: "streams", Value: "1"}}, sweeps,
		"reference")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	folders := map[string]bool{}
	for _, c := range list {
		settings := ""
		for _, s := range c.Settings {
			settings += " " + strings.TrimPrefix(s.Path+"="+s.Value, "=")
		}
		got = append(got, c.problem()+" |"+settings+" | "+c.Label)
		folders[c.folder()] = true
	}
	want := []string{
		"a/spec.yaml M=8 S=2 | reference | S=2 baseline reference",
		"a/spec.yaml M=8 S=2 | eager streams=1 all.via=nccl | S=2 all.via=nccl schedule=eager",
		"a/spec.yaml M=8 S=2 | eager streams=1 all.via=ipc-get | S=2 all.via=ipc-get schedule=eager",
		"a/spec.yaml M=8 S=4 | reference | S=4 baseline reference",
		"a/spec.yaml M=8 S=4 | eager streams=1 all.via=nccl | S=4 all.via=nccl schedule=eager",
		"a/spec.yaml M=8 S=4 | eager streams=1 all.via=ipc-get | S=4 all.via=ipc-get schedule=eager",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(folders) != len(list) {
		t.Errorf("%d cases have %d folders", len(list), len(folders))
	}
}

func TestSweepsThatAreRefused(t *testing.T) {
	for _, text := range []string{"S", "=2", "S=", "S=2,,4"} {
		if _, err := ParseSweep(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	if _, err := Cases("a.yaml", []string{"S"}, nil, nil, []Sweep{{"S", []string{"two"}}}, ""); err == nil {
		t.Error("S=two is taken")
	}
}

// TestDerivedFigures checks the figures that a row computes from its times.
func TestDerivedFigures(t *testing.T) {
	r := Row{Flops: 8e12, Products: 8, Moves: 9, Predicted: 12}
	r.take([]float64{10, 30, 11, 9, 10})
	got := []float64{r.Median, r.P10, r.P90, r.TFLOPs(), r.OfProducts(), r.OfBound(), r.OfPrediction(), r.Exposed()}
	if diff := cmp.Diff([]float64{10, 9.4, 22.4, 800000, 0.8, 0.9, 1.2, 2}, got, nearly); diff != "" {
		t.Error(diff)
	}
	if empty := (&Row{}); empty.OfBound() != 0 || empty.Exposed() != 0 {
		t.Error("a row without times has shares")
	}
}

var nearly = cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })

// TestResult prints rows of every status as text, CSV and HTML, and reads them back from JSON.
func TestResult(t *testing.T) {
	text, err := os.ReadFile("testdata/rows.json")
	if err != nil {
		t.Fatal(err)
	}
	var r Result
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"rows.txt":  func(b *bytes.Buffer) error { return r.Text(b) },
		"rows.csv":  func(b *bytes.Buffer) error { return r.CSV(b) },
		"rows.html": func(b *bytes.Buffer) error { return r.Page(b) },
	} {
		var got bytes.Buffer
		if err := write(&got); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, got.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s (-want +got; rewrite with -update):\n%s", name, diff)
		}
	}
	path := filepath.Join(t.TempDir(), "rows.json")
	if err := r.Save(path); err != nil {
		t.Fatal(err)
	}
	again, err := Read(path)
	if diff := cmp.Diff(&r, again); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestSignificant(t *testing.T) {
	for x, want := range map[float64]string{
		0: "-", 1.5: "1.5", 0.12345: "0.123", 99.96: "100", 123.4: "123", 999.4: "999", 999.5: "1000", 999.96: "1000", 1234.5: "1234",
		12345.6: "12346", 0.00001: "0.00001", 0.0000012345: "0.00000123",
	} {
		if got := significant(x); got != want {
			t.Errorf("%g is printed as %s, want %s", x, got, want)
		}
	}
}

// TestKept checks that a row is kept only for the same program, ranks and device, and only if its
// status is OK.
func TestKept(t *testing.T) {
	row := Row{Digest: "a", Ranks: 2, Device: "cpu", Status: OK}
	r := Result{Rows: []Row{row, {Digest: "b", Ranks: 2, Device: "cpu", Status: Failed}}}
	for _, c := range []struct {
		row  Row
		kept bool
	}{
		{row, true},
		{Row{Digest: "b", Ranks: 2, Device: "cpu"}, false},
		{Row{Digest: "a", Ranks: 4, Device: "cpu"}, false},
		{Row{Digest: "a", Ranks: 2, Device: "cuda"}, false},
	} {
		if _, kept := r.Kept(c.row); kept != c.kept {
			t.Errorf("%+v: kept is %v", c.row, kept)
		}
	}
}

// TestProductsAlone checks that a pipeline for given GEMMs computes these GEMMs and
// communicates nothing.
func TestProductsAlone(t *testing.T) {
	const bf16, fp32, e4m3, e5m2 = domain.BF16, domain.FP32, domain.FP8E4M3, domain.FP8E5M2
	products := []cost.Product{
		{M: 64, N: 32, K: 16, Batch: 1, DType: bf16, TypeB: bf16, Result: bf16},
		{M: 64, N: 16, K: 32, Batch: 1, Transposed: true, DType: bf16, TypeB: bf16, Result: fp32},
		{M: 8, N: 4, K: 2, Batch: 3, DType: bf16, TypeB: bf16, Result: bf16},
		{M: 8, N: 4, K: 2, Batch: 3, Transposed: true, DType: bf16, TypeB: bf16, Result: bf16},
		{M: 64, N: 32, K: 16, Batch: 1, Transposed: true, DType: e5m2, TypeB: e4m3, Result: bf16},
		{M: 64, N: 32, K: 16, Batch: 3, Transposed: true, DType: e4m3, TypeB: e4m3, Result: fp32},
		{M: 64, N: 32, K: 16, Batch: 1, Transposed: true, RowScales: true, DType: e4m3, TypeB: e4m3, Result: bf16},
		{M: 64, N: 256, K: 384, Batch: 1, Transposed: true, BlockScales: true, DType: e4m3, TypeB: e5m2, Result: bf16},
		{M: 64, N: 256, K: 384, Batch: 1, Transposed: true, BlockScales: true, DType: e4m3, TypeB: e4m3, Result: fp32},
	}
	p, err := productsAlone(products, 2)
	if err != nil {
		t.Fatal(err)
	}
	one := &program{}
	if err := one.print(p, &Options{Device: "cuda"}); err != nil {
		t.Fatal(err)
	}
	predicted := cmpopts.IgnoreFields(cost.Product{}, "Pos", "Time", "Peak")
	if diff := cmp.Diff(products, one.products, predicted); diff != "" {
		t.Errorf("it computes other GEMMs (-want +got):\n%s", diff)
	}
	if one.row.Moves != 0 {
		t.Errorf("it communicates for %v us", one.row.Moves)
	}
}

// TestProductsOfOtherRanks checks that programs with the same GEMMs on different numbers of ranks do not share the program
// that runs the GEMMs alone.
func TestProductsOfOtherRanks(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := &run{Options: &Options{Device: launch.CPU, Work: t.TempDir()}, ctx: ctx, alone: map[string]*program{}}
	cancel() // the build fails at once: the test needs only the program's description
	seen := map[*program]bool{}
	for _, ranks := range []int{2, 4, 2} {
		alone, _ := r.productsOf([]*program{{
			row: Row{Ranks: ranks}, products: []cost.Product{
				{M: 64, N: 32, K: 16, Batch: 1, DType: domain.BF16, TypeB: domain.BF16, Result: domain.BF16},
			},
		}})
		if alone == nil || alone.row.Ranks != ranks {
			t.Errorf("the GEMMs of %d ranks are run by %+v", ranks, alone)
		}
		seen[alone] = true
	}
	if len(seen) != 2 {
		t.Errorf("there are %d programs for two numbers of ranks", len(seen))
	}
}

// TestLines checks that wait finds a line even if several writes deliver it, and that the last line that does not begin
// with # becomes the error.
func TestLines(t *testing.T) {
	l := newLines()
	for _, part := range []string{"# rea", "dy: a line\n# round, us: 1 ", "2\nit broke\n", "# more\n"} {
		_, _ = l.Write([]byte(part))
	}
	for _, c := range [][2]string{{saysReady, ": a line"}, {saysRound, "1 2"}} {
		if got, err := l.wait(c[0], time.Minute); err != nil || got != c[1] {
			t.Errorf("behind %q it says %q, %v", c[0], got, err)
		}
	}
	if _, err := l.wait(saysRound, time.Millisecond); err == nil || !strings.Contains(err.Error(), "it broke") {
		t.Errorf("a program that is silent: %v", err)
	}
	l.end()
	if _, err := l.wait(saysRound, time.Minute); err == nil || err.Error() != "it broke" {
		t.Errorf("a program that ended: %v", err)
	}
}

// TestWaived checks that a case that hirgen refuses becomes a waived row with a reason and without a program, and that
// accepted cases are not waived.
func TestWaived(t *testing.T) {
	o := Options{Device: "cpu", Ranks: 3}
	spec := "../../../testdata/specs/ag_matmul/spec.yaml"
	for _, c := range []Case{
		{Spec: "none.yaml"},
		{Spec: spec, Params: map[string]int64{"Q": 1}},
		{Spec: spec, Settings: []model.Setting{{Path: "streams", Value: "x"}}},
	} {
		p := o.lower(c)
		if p.row.Status != Waived || p.row.Reason == "" || p.emitted != nil {
			t.Errorf("%+v: %+v", c, p.row)
		}
	}
	whole := Case{Spec: spec, Params: map[string]int64{"S": 1}}
	if p := (&Options{Device: "cpu", Ranks: 2}).lower(whole); p.row.Status != "" || p.row.Values["S"] != 1 {
		t.Errorf("in one slice: %+v", p.row)
	}
	if p := (&Options{Device: "cpu", Ranks: 2}).lower(Case{Spec: spec}); p.row.Status != "" || p.row.Ranks != 2 || p.row.Digest == "" {
		t.Errorf("on two ranks: %+v", p.row)
	}
}

// TestAttentionWithoutCudnn checks that a row says why cuDNN does not compute its attention, each
// reason once.
func TestAttentionWithoutCudnn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.json")
	const text = `{"wrong": 0, "attentions": [{"method": "tiled", "reason": "built without cuDNN"}, {"reason": ""}, {"reason": "built ` +
		`without cuDNN"}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	read, ok := readReport(path)
	if got, want := read.tiled(), "built without cuDNN"; !ok || got != want {
		t.Fatalf("%q, want %q", got, want)
	}
	result := Result{Rows: []Row{{Case: Case{Spec: "a.yaml"}, Status: OK, Tiled: read.tiled()}}}
	var printed bytes.Buffer
	if err := result.Text(&printed); err != nil ||
		!strings.Contains(printed.String(), "attention by hirgen's own kernels, which take longer than cuDNN: built without cuDNN\n") {
		t.Errorf("%v\n%s", err, printed.String())
	}
}

// TestUntilPanics checks that a panic of the call reaches the caller of until, which can recover it.
func TestUntilPanics(t *testing.T) {
	defer func() {
		if failure := recover(); failure != "broken" {
			t.Errorf("recovered %v", failure)
		}
	}()
	_, err := until(t.Context(), func() int { panic("broken") })
	t.Errorf("until returned %v", err)
}

// TestUntilDoesNotWait checks that the end of a context ends the wait for a call that does not return.
func TestUntilDoesNotWait(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	_, err := until(ctx, func() int {
		stop()
		select {}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
