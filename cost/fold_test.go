package cost_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/internal/tools/soak"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
)

// onNodes returns a machine with the given number of GPUs on a node; 0: all GPUs are on one node.
func onNodes(m *cost.Machine, ranks int) *cost.Machine {
	other := *m
	if ranks > 0 {
		other.Nodes = &cost.Nodes{Ranks: ranks, Latency: 5, Rate: cost.Curve{{Bytes: 1, Rate: 50}}}
	}
	return &other
}

// TestFolding checks that a prediction with one rank of each class has the same times as one with all ranks, on one
// node and on several. It takes every example spec that can have 8 ranks, and random specs of the soak test.
func TestFolding(t *testing.T) {
	specs, err := os.ReadDir("../testdata/specs")
	if err != nil {
		t.Fatal(err)
	}
	folded := 0
	for _, spec := range specs {
		p, err := lowerFile("../testdata/specs/"+spec.Name()+"/spec.yaml", map[string]int64{"D": 8}, nil)
		if err != nil {
			continue // the number of its ranks is not the parameter D, or does not fit
		}
		for _, ranks := range []int{0, 4, 3} {
			folded += foldsRight(t, spec.Name(), p, onNodes(h200(t), ranks))
		}
	}
	if folded < 60 {
		t.Errorf("%d predictions had ranks that do the same", folded)
	}
	for number := range uint64(400) {
		spec := soak.MakeUp(11, number)
		p, err := model.Load("spec.yaml", []byte(spec.Text()), nil)
		if err != nil {
			continue
		}
		if program, err := lowering.Lower(p, lowering.Options{}); err == nil {
			foldsRight(t, spec.Text(), program, onNodes(slowed(h200(t), rand.New(rand.NewPCG(number, 3))), int(number%4)))
		}
	}
}

// foldsRight compares a folded prediction with a whole one. It returns 1 if they are equal and some rank stands for others, and
// else 0.
func foldsRight(t *testing.T, name string, p *calls.Described, m *cost.Machine) int {
	t.Helper()
	whole, err := cost.Predict(p.Programs(), m)
	fold, foldErr := cost.Fold(p.Programs(), m)
	if err != nil || foldErr != nil {
		if (err == nil) != (foldErr == nil) {
			t.Errorf("%s: %v whole, %v folded", name, err, foldErr)
		}
		return 0
	}
	equal := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(a, b, 1) }
	if !equal(whole.Total, fold.Total) || !equal(whole.Exposed, fold.Exposed) || !equal(whole.Host, fold.Host) {
		t.Errorf("%s: %v us a call, %v exposed, by %d classes; %v and %v by all ranks", name, fold.Total, fold.Exposed, len(fold.Classes),
			whole.Total, whole.Exposed)
		return 0
	}
	times, of := byRank(whole), byRank(fold)
	stood := 0
	for _, class := range fold.Classes {
		for _, rank := range class.Ranks {
			if !slices.EqualFunc(times[rank], of[class.Rank], func(a, b cost.Call) bool {
				return a.Name == b.Name && a.Stream == b.Stream && equal(a.Begin, b.Begin) && equal(a.End, b.End)
			}) {
				t.Errorf("%s: rank %d does not do what rank %d does", name, rank, class.Rank)
				return 0
			}
		}
		stood = max(stood, min(1, len(class.Ranks)-1))
	}
	return stood
}

// byRank returns the calls of each rank.
func byRank(p *cost.Prediction) map[int][]cost.Call {
	found := map[int][]cost.Call{}
	for _, c := range p.Calls {
		found[c.Rank] = append(found[c.Rank], c)
	}
	return found
}

// TestNodesBoundRings checks that each GPU of a node sends an equal part of the data that a ring moves between nodes;
// in an all-to-all each rank sends its own data. If the network is faster than the links inside a node, the links bound
// the time.
func TestNodesBoundRings(t *testing.T) {
	const bytes = 1 << 30
	for _, c := range []struct {
		kind    collective.Type
		network float64 // bytes that a GPU sends over the network
		hops    float64
	}{
		{collective.Allgather, bytes * 15 / 16 / 8, 1},
		{collective.ReduceScatter, bytes * 15 / 16 / 8, 1},
		{collective.Allreduce, 2 * bytes * 15 / 16 / 8, 2},
		{collective.AllToAll, bytes * 8 / 16, 1},
	} {
		inside := h200(t).CollectiveTime(c.kind, bytes, 16)
		slow := onNodes(h200(t), 8)
		slow.Nodes.Rate = cost.Curve{{Bytes: 1, Rate: 10}} // GB/s; 8 GPUs together are slower than one link inside a node
		want := c.network/10/1e3 + c.hops*slow.Nodes.Latency
		if got := slow.CollectiveTime(c.kind, bytes, 16); math.Abs(got-want) > 1e-6*want {
			t.Errorf("%s takes %v us over a slow network, and the network %v", c.kind, got, want)
		}
		fast := onNodes(h200(t), 8)
		fast.Nodes.Rate = cost.Curve{{Bytes: 1, Rate: 1e6}}
		if got, want := fast.CollectiveTime(c.kind, bytes, 16), inside+c.hops*fast.Nodes.Latency; math.Abs(got-want) > 1e-6*want {
			t.Errorf("%s takes %v us over a fast network, and %v inside one node", c.kind, got, inside)
		}
		one := onNodes(h200(t), 16)
		if got := one.CollectiveTime(c.kind, bytes, 16); got != inside {
			t.Errorf("%s takes %v us on one node of many, and %v on one", c.kind, got, inside)
		}
	}
}

// TestReach checks that a transfer over CUDA IPC to another node is a ReachError. A fallback variant, and a program
// over NCCL, run on several nodes.
func TestReach(t *testing.T) {
	for _, c := range []struct {
		spec string
		runs bool
	}{{"matmul_rs_peer_read", false}, {"ag_matmul_anywhere", true}, {"mlp_tp", true}} {
		p, err := lowerFile("../testdata/specs/"+c.spec+"/spec.yaml", map[string]int64{"D": 8}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, predict := range []func([]*calls.Program, *cost.Machine) (*cost.Prediction, error){cost.Predict, cost.Fold} {
			_, err := predict(p.Programs(), onNodes(h200(t), 4))
			if reach := (*cost.ReachError)(nil); errors.As(err, &reach) == c.runs || c.runs && err != nil {
				t.Errorf("%s on two nodes: %v", c.spec, err)
			}
		}
	}
}

// TestFew checks that Few keeps whole classes of a folded prediction, including the class that ends last, and that
// the causes of the kept calls stay valid.
func TestFew(t *testing.T) {
	p, err := lowerFile("../testdata/specs/ag_matmul_anywhere/spec.yaml", map[string]int64{"D": 16}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := cost.Fold(p.Programs(), onNodes(h200(t), 8))
	if err != nil || len(r.Classes) != 8 {
		t.Fatalf("%v, %d classes", err, len(r.Classes))
	}
	if r.Few(len(r.Calls)) != r {
		t.Error("calls are left out where there is room for all")
	}
	whole := byRank(r)
	for _, most := range []int{1, len(r.Calls) / 3, len(r.Calls) - 1} {
		few := r.Few(most)
		if few.Calls[few.Last].End != r.Calls[r.Last].End || len(few.Classes) == len(r.Classes) || len(few.Classes) > 1 && len(few.Calls) > most {
			t.Errorf("of %d calls there are %d, of %d classes", most, len(few.Calls), len(few.Classes))
		}
		for _, class := range few.Classes {
			if got := byRank(few)[class.Rank]; len(got) != len(whole[class.Rank]) {
				t.Errorf("rank %d has %d calls of %d", class.Rank, len(got), len(whole[class.Rank]))
			}
		}
		for i, c := range few.Calls {
			if c.Cause >= 0 && (few.Calls[c.Cause].End > latest(c)+1e-6 || c.Cause == i) {
				t.Errorf("%s waits for %s", c.Name, few.Calls[c.Cause].Name)
			}
		}
	}
}

func TestSpan(t *testing.T) {
	every := func(n, by int) (ranks []int) {
		for i := range n {
			ranks = append(ranks, i*by)
		}
		return ranks
	}
	for _, c := range []struct {
		ranks []int
		want  string
	}{
		{[]int{3}, "3"},
		{every(1024, 1), "0-1023"},
		{every(128, 8), "0, 8, ..., 1016"},
		{[]int{0, 1, 4, 6, 7}, "0-1, 4, 6-7"},
		{[]int{0, 2, 3, 5, 7, 9, 11, 13, 15}, "0, 2-3, 5, 7, 9, 11, ..."},
	} {
		if got := (cost.Class{Ranks: c.ranks}).Span(); got != c.want {
			t.Errorf("%v is %q, not %q", c.ranks, got, c.want)
		}
	}
}

// TestMachinesLikeOthers checks that every built-in machine states its source, and that a file with "like" overrides
// fields of a built-in machine.
func TestMachinesLikeOthers(t *testing.T) {
	for _, name := range cost.Machines() {
		m, err := cost.LoadMachine(name)
		if err != nil {
			t.Fatal(err)
		}
		if m.Name != name || m.Source == "" || m.Published != (m.MeasuredRanks() == 0) {
			t.Errorf("%s is named %s, measured on %d ranks, published %v: %s", name, m.Name, m.MeasuredRanks(), m.Published, m.Source)
		}
	}
	own, err := cost.ParseMachine("own.json", []byte(`{"like": "h200", "name": "mine", "nodes": {"ranks": 4, "latency_us": 3, "gbps": `+
		`[[1, 25]]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if h := h200(t); own.SMs != h.SMs || own.Name != "mine" || own.Source != "as h200, "+h.Source || own.MeasuredRanks() != 4 ||
		own.NodesOf(9) != 3 || h.NodesOf(9) != 1 {
		t.Errorf("%+v", own)
	}
	for text, want := range map[string]string{
		`{"like": "h300"}`: `own.json: like is "h300", and a machine that comes with hirgen is one of b200, `,
		`{"like": "h200", "nodes": {"ranks": 0, "gbps": [[1, 25]]}}`: "own.json: nodes needs ranks of at least 1",
		`{"like": "h200", "nodes": {"ranks": 8}}`:                    "own.json: nodes.gbps is missing",
		"{\"like\": \"h200\",\n \"node\": {}}":                       `own.json:2:`,
	} {
		if _, err := cost.ParseMachine("own.json", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
