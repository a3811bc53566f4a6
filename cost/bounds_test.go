package cost_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/cost"
	"github.com/hirgen/hirgen/internal/tools/soak"
	"github.com/hirgen/hirgen/lowering"
	"github.com/hirgen/hirgen/model"
	"github.com/hirgen/hirgen/model/domain"
)

func h200(t *testing.T) *cost.Machine {
	t.Helper()
	m, err := cost.LoadMachine("h200")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// slowed returns a machine on which the small tensors of random specs take long, so that calls share resources. Most
// rates get random factors.
func slowed(m *cost.Machine, random *rand.Rand) *cost.Machine {
	slow := *m
	by := func(most float64) float64 { return 1 + random.Float64()*most }
	curve := func(c cost.Curve) cost.Curve {
		factor := by(9) * 1e5
		made := make(cost.Curve, len(c))
		for i, p := range c {
			made[i] = cost.Point{p.Bytes, p.Rate / factor}
		}
		return made
	}
	slow.GEMM = map[domain.DType]cost.GEMMRate{}
	for dtype, rate := range m.GEMM {
		factor := by(9) * 1e5
		slow.GEMM[dtype] = cost.GEMMRate{rate.Sustained / factor, rate.Peak / factor}
	}
	slow.Tiles = []cost.Tile{{1, 1, 1, 1}, {4, 4, 1, 1}}
	slow.HBM, slow.L2Bytes = curve(m.HBM), 0
	slow.Links.Pull, slow.Links.Push, slow.Links.SM = curve(m.Links.Pull), curve(m.Links.Push), curve(m.Links.SM)
	slow.Links.Limit /= by(9) * 1e5
	slow.NCCL.Pair.Rate = curve(m.NCCL.Pair.Rate)
	slow.NCCL.Teams = append([]cost.NCCLRow(nil), m.NCCL.Teams...)
	for i := range slow.NCCL.Teams {
		slow.NCCL.Teams[i].Rate = curve(slow.NCCL.Teams[i].Rate)
	}
	slow.SMs, slow.NCCL.SMs, slow.Links.SMs = 4, 1, 1
	slow.Host.Kernel *= by(20) * random.Float64()
	return &slow
}

// TestBounds checks that a prediction takes at least the time of the longest chain of calls and of the busiest
// resource, and at most the time of all calls one after the other. Estimate gives the same total, or a lower one if it
// stops at a limit.
func TestBounds(t *testing.T) {
	m := h200(t)
	accepted, binding := 0, map[string]int{}
	for number := range uint64(1500) {
		spec := soak.MakeUp(7, number)
		if number%3 == 0 {
			spec = soak.MakeLegal(7, number)
		}
		p, err := model.Load("spec.yaml", []byte(spec.Text()), nil)
		if err != nil {
			continue
		}
		program, err := lowering.Lower(p, lowering.Options{})
		if err != nil {
			continue
		}
		accepted++
		random := rand.New(rand.NewPCG(number, 5))
		for _, machine := range []*cost.Machine{m, slowed(m, random)} {
			r, err := cost.Predict(program.Programs(), machine)
			if err != nil {
				t.Fatalf("spec %d: %v\n%s", number, err, spec.Text())
			}
			const rounding = 1e-6
			if r.Total < r.Critical-rounding || r.Total < r.Busiest-rounding || r.Total > r.Serial+rounding {
				t.Fatalf("spec %d takes %.3f us, the longest chain %.3f, the busiest resource %.3f, all calls %.3f\n%s",
					number, r.Total, r.Critical, r.Busiest, r.Serial, spec.Text())
			}
			for _, limit := range []float64{0, r.Total + rounding} {
				e, err := cost.Estimate(program.Programs(), machine, limit)
				if err != nil || e.Total > r.Total+rounding || limit > 0 && e.Total != r.Total {
					t.Fatalf("spec %d takes %.3f us, and %v at a limit of %v us: %v\n%s", number, r.Total, e, limit, err, spec.Text())
				}
			}
			switch {
			case r.Total < r.Busiest*1.001 && r.Busiest > r.Critical*1.001:
				binding["busiest resource"]++
			case r.Total < r.Critical*1.001:
				binding["longest chain"]++
			default:
				binding["neither"]++
			}
			checkCalls(t, r)
		}
	}
	t.Logf("%d specs, and what bounds them: %v", accepted, binding)
	if accepted < 300 || len(binding) < 3 {
		t.Errorf("%d specs were accepted, bounded by %v: that is not all there is to test", accepted, binding)
	}
}

// checkCalls checks properties of every timeline.
func checkCalls(t *testing.T, r *cost.Prediction) {
	t.Helper()
	last := map[string]float64{}
	for i, c := range r.Calls {
		on := fmt.Sprint(c.Rank, c.Stream)
		switch {
		case c.Start > c.Begin || c.Begin > c.End:
			t.Fatalf("%s starts at %v, begins at %v and ends at %v", c.Name, c.Start, c.Begin, c.End)
		case c.Start < last[on]:
			t.Fatalf("%s starts at %v, and its stream is busy until %v", c.Name, c.Start, last[on])
		case c.Cause >= 0 && r.Calls[c.Cause].End > latest(c)+1e-6:
			t.Fatalf("%s begins at %v, before %s ends, at %v", c.Name, c.Begin, r.Calls[c.Cause].Name, r.Calls[c.Cause].End)
		case c.Cause == i:
			t.Fatalf("%s waits for itself", c.Name)
		}
		last[on] = c.End
	}
	for _, e := range r.Communications {
		covered := 0.0
		for _, cover := range e.Behind {
			covered += cover.Time
		}
		if e.Hidden < -1e-6 || e.Exposed < -1e-6 || e.Hidden > covered+1e-6 {
			t.Fatalf("%s takes %v us: %v hidden, %v exposed, %v covered", e.Name, e.Total, e.Hidden, e.Exposed, covered)
		}
	}
}

// latest returns the time by which the cause of a call has ended. A communication begins on its rank before it waits for its peers.
func latest(c cost.Call) float64 {
	if c.Kind.Moves() {
		return c.End
	}
	return c.Begin
}

// chain returns a program of n GEMMs in pipelines that gather their operand.
func chain(t *testing.T, n int) *calls.Described {
	t.Helper()
	var tensors, ops strings.Builder
	fmt.Fprintf(&tensors, "  A0: [S, DIDx, 64, 512]\n  B: [512, 512]\n")
	for i := range n {
		fmt.Fprintf(&tensors, "  C%d: [Stream(S), D, 64, 512]\n", i)
		fmt.Fprintf(&ops, "  - C%d = matmul(A0, B)\n", i)
	}
	text := "hirgen: 1\nname: chain\nparams: {D: 2, S: 4}\nmesh: {x: D}\ndtype: bf16\ntensors:\n" + tensors.String() + "ops:\n" + ops.String()
	p, err := model.Load("spec.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	program, err := lowering.Lower(p, lowering.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// TestTime limits the time of predictions, which is about 20 ms for 10,000 calls, and its growth per call if there are
// 50 times as many calls. The limits allow for other load.
func TestTime(t *testing.T) {
	m := h200(t)
	perCall := map[int]time.Duration{}
	for _, n := range []int{30, 1500} {
		program := chain(t, n)
		best := time.Hour
		found := 0
		for range 5 {
			start := time.Now()
			r, err := cost.Predict(program.Programs(), m)
			if err != nil {
				t.Fatal(err)
			}
			best, found = min(best, time.Since(start)), len(r.Calls)
		}
		perCall[n] = best / time.Duration(found)
		t.Logf("%d calls in %v, %v each", found, best, perCall[n])
	}
	if perCall[1500] > 10*perCall[30] || perCall[1500] > 50*time.Microsecond {
		t.Errorf("a call takes %v among few and %v among many", perCall[30], perCall[1500])
	}
}

// TestHostIssues checks that a call with much small work takes as long as the host needs to issue it, except as a CUDA
// graph.
func TestHostIssues(t *testing.T) {
	params := map[string]int64{"D": 2, "M": 16, "N": 16, "K": 16, "S": 8}
	plain := predictExample(t, "ag_matmul", params, nil)
	graph := predictExample(t, "ag_matmul", params, map[string]string{"graph": "true"})
	if plain.Total != plain.Host || plain.Calls[len(plain.Calls)-1].Start < 0.8*plain.Host {
		t.Errorf("a call takes %v, its host %v, and its last call starts at %v", plain.Total, plain.Host, plain.Calls[len(plain.Calls)-1].Start)
	}
	if graph.Total >= plain.Total || graph.Host > 10 {
		t.Errorf("as a graph it takes %v, and its host %v", graph.Total, graph.Host)
	}
}
