package simulate

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/model"
)

var update = flag.Bool("update", false, "rewrite testdata/")

// TestResult compares rows of every kind, printed as text and as a page, with files in testdata.
func TestResult(t *testing.T) {
	text, err := os.ReadFile("testdata/result.json")
	if err != nil {
		t.Fatal(err)
	}
	var r Result
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	published := r
	published.Published, published.Measured, published.Scale, published.Rows = true, 0, "", slices.Clone(r.Rows)
	for i := range published.Rows {
		published.Rows[i].Measured = false
	}
	for name, write := range map[string]func(io.Writer) error{"result.txt": r.Write, "result.html": r.Page, "published.txt": published.Write} {
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
}

func machine(t *testing.T, name string) *cost.Machine {
	t.Helper()
	m, err := cost.LoadMachine(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// of returns the options to predict an example spec.
func of(t *testing.T, spec string, m *cost.Machine, ranks ...int) Options {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "specs", spec, "spec.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return Options{File: "spec.yaml", Text: text, Machine: m, Ranks: ranks}
}

func run(t *testing.T, o Options) *Result {
	t.Helper()
	r, err := Run(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestScaling checks that efficiency is relative to the first row, Scale grows from its value at the spec's own
// ranks, and an impossible number of ranks is a row with the reason.
func TestScaling(t *testing.T) {
	m := machine(t, "dgx_h200")
	o := of(t, "mlp_tp", m, 2, 4, 6, 8, 64)
	strong := run(t, o).Rows
	if first, last := strong[0], strong[4]; first.Efficiency != 1 || math.Abs(last.Efficiency-first.Predicted*2/(last.Predicted*64)) > 1e-12 ||
		last.Scaled != 0 {
		t.Errorf("%+v", strong)
	}
	if !strings.Contains(strong[2].Refused, "not a whole number") || strong[2].Predicted != 0 {
		t.Errorf("6 ranks: %+v", strong[2])
	}
	for _, row := range strong {
		if row.Measured != (row.Ranks <= 8 && row.Refused == "") || row.Nodes != (row.Ranks+7)/8 {
			t.Errorf("%d ranks: measured %v, on %d nodes", row.Ranks, row.Measured, row.Nodes)
		}
	}
	o.Scale = "M"
	weak := run(t, o).Rows
	if last := weak[4]; weak[0].Scaled != 2048 || last.Scaled != 65536 || math.Abs(last.Efficiency-weak[0].Predicted/last.Predicted) > 1e-12 {
		t.Errorf("%+v", weak)
	}
	o.Params, o.Ranks = map[string]int64{"M": 32 * 255}, []int{3}
	if row := run(t, o).Rows[0]; !strings.Contains(row.Refused, "and 3 / 8 of that") && row.Scaled != 3060 {
		t.Errorf("%+v", row)
	}
	if r := run(t, of(t, "ag_matmul", m, 2, 8)); !strings.HasPrefix(r.Notes()[1],
		"at 8 ranks a rank's GEMMs are 4 times what they would be by strong scaling") {
		t.Errorf("every rank computes all, and the notes are %q", r.Notes())
	}
	if r := run(t, of(t, "mlp_tp", machine(t, "dgx_b200"), 2, 4)); !r.Published || r.Rows[0].Measured ||
		!strings.HasPrefix(r.Notes()[1], "NOT VALIDATED") {
		t.Errorf("%+v", r)
	}
}

// TestMoreThanWasMeasured checks that a prediction for 4 ranks is not validated if collectives were measured on 2 ranks
// only.
func TestMoreThanWasMeasured(t *testing.T) {
	m := *machine(t, "h200")
	m.NCCL.Teams = m.NCCL.Teams[:1]
	r := run(t, of(t, "mlp_tp", &m, 2, 4))
	if want := "measured on at most 2 ranks of one node, and these are predictions for 4"; !r.Rows[0].Measured || r.Rows[1].Measured ||
		!strings.HasSuffix(r.Notes()[1], want) {
		t.Errorf("%+v: %v", r.Rows, r.Notes())
	}
}

// examples calls check for each prediction of an example spec on 4 and on 8 ranks.
func examples(t *testing.T, m *cost.Machine, check func(spec string, row Row)) {
	t.Helper()
	specs, err := os.ReadDir(filepath.Join("..", "..", "..", "testdata", "specs"))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, spec := range specs {
		for _, row := range run(t, of(t, spec.Name(), m, 4, 8)).Rows {
			if row.Refused == "" {
				seen++
				check(spec.Name(), row)
			}
		}
	}
	if seen < 50 {
		t.Errorf("%d predictions", seen)
	}
}

// TestTimeIsNotBelowComputation checks that a call takes at least as long as its computation, its exposed
// communication, its longest chain and its busiest resource. If all ranks do the same, it takes at least the sum
// of the first two.
func TestTimeIsNotBelowComputation(t *testing.T) {
	m := machine(t, "h200")
	m.Nodes = &cost.Nodes{Ranks: 4, Latency: 5, Rate: cost.Curve{{Bytes: 1, Rate: 50}}}
	examples(t, m, func(spec string, row Row) {
		const rounding = 1e-6
		p := row.prediction
		if row.Predicted < row.Compute-rounding || row.Predicted < row.Exposed-rounding || row.Predicted < p.Critical-rounding ||
			row.Predicted < p.Busiest-rounding {
			t.Errorf("%s on %d ranks takes %v us: computes %v, exposes %v, longest chain %v, busiest resource %v",
				spec, row.Ranks, row.Predicted, row.Compute, row.Exposed, p.Critical, p.Busiest)
		}
		if ranks := len(row.prediction.Classes); ranks == 1 && row.Predicted < row.Compute+row.Exposed-rounding {
			t.Errorf("%s on %d ranks takes %v us, computes %v and exposes %v", spec, row.Ranks, row.Predicted, row.Compute, row.Exposed)
		}
	})
}

// TestFastLinksHideAll checks that where links and calls cost nothing, no communication is exposed.
func TestFastLinksHideAll(t *testing.T) {
	m := machine(t, "h200")
	fast := cost.Curve{{Bytes: 1, Rate: 1e12}}
	m.Links = cost.Links{Pull: fast, Push: fast, SM: fast, Limit: 1e12}
	m.Nodes = &cost.Nodes{Ranks: 4, Rate: fast}
	row := []cost.NCCLRow{{Ranks: 2, Rate: fast}}
	m.NCCL = cost.NCCL{Pair: row[0], Teams: row, Allreduce: row}
	m.Device, m.Host, m.L2, m.HBM = cost.Fixed{}, cost.Issue{}, 1e12, fast // memory too: it limits peer-read reductions
	examples(t, m, func(spec string, row Row) {
		if row.Exposed > 1e-6+1e-3*row.Predicted {
			t.Errorf("%s takes %v us, of which %v are exposed", spec, row.Predicted, row.Exposed)
		}
	})
}

// TestManyRanks checks that a page for 1,024 ranks is small, even if it has thousands of classes.
func TestManyRanks(t *testing.T) {
	o := of(t, "mlp_tp", machine(t, "dgx_h100"), 8, 1024)
	o.Scale, o.Settings = "M", []model.Setting{{Path: "streams", Value: "2"}}
	r := run(t, o)
	row := &r.Rows[1]
	if len(row.Classes) != 1 || row.Classes[0] != (Class{0, 1024, "0-1023"}) || row.Nodes != 128 {
		t.Errorf("%+v", row)
	}
	for i := range 4096 {
		row.Classes = append(row.Classes, Class{i, 1, "0"})
	}
	var page bytes.Buffer
	if err := r.Page(&page); err != nil || page.Len() > 100_000 {
		t.Errorf("%v, and the page has %d bytes", err, page.Len())
	}
}
