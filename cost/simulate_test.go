package cost

import (
	"math"
	"testing"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/model/domain"
)

// bare returns a machine without fixed times. GEMMs run at 132 TFLOP/s in tiles of 128 x 256, links carry 1 GB/s, and memory is
// practically free.
func bare(t *testing.T) *Machine {
	t.Helper()
	known, err := LoadMachine("h200")
	if err != nil {
		t.Fatal(err)
	}
	m := *known
	one := Curve{{1, 1}}
	m.GEMM = map[domain.DType]GEMMRate{domain.BF16: {132, 132}}
	m.Tiles = []Tile{{128, 256, 1, 1}}
	m.HBM, m.L2Bytes = Curve{{1, 1e9}}, 0
	m.Links = Links{Pull: one, Push: one, SM: one, Limit: 1, SMs: 33}
	m.NCCL = NCCL{SMs: 33, Pair: NCCLRow{2, 0, one}, Teams: []NCCLRow{{2, 0, one}}, Allreduce: []NCCLRow{{2, 0, one}}}
	m.Device, m.Host, m.Beside = Fixed{}, Issue{}, Beside{}
	return &m
}

// timeline returns an unrolling without tasks, to which a test adds them.
func timeline(m *Machine, ranks int) *unrolling {
	return &unrolling{machine: m, places: make([]int32, ranks)}
}

func (u *unrolling) at(w work, ranks ...int32) int32 {
	return u.add(task{work: w, stream: 0, ranks: ranks, stmt: &calls.Delay{}})
}

func ends(t *testing.T, u *unrolling, want ...float64) {
	t.Helper()
	if err := simulate(u, false); err != nil {
		t.Fatal(err)
	}
	for i, end := range want {
		if got := u.tasks[i].end; math.Abs(got-end) > 1e-6*end {
			t.Errorf("task %d ends at %v, not at %v", i, got, end)
		}
	}
}

// TestWaves checks that a GEMM of two full waves of tiles takes as long as two GEMMs of half its size, and that three
// GEMMs of a third of its size take one wave longer.
func TestWaves(t *testing.T) {
	m := bare(t)
	alone := func(n int64) float64 { return m.gemmWork(denseGEMM(128*132, n, 1000)).alone }
	whole, half := alone(512), alone(256)
	third := m.gemmWork(denseGEMM(128*44, 512, 1000)).alone
	if math.Abs(whole-2*half) > 1e-9*whole || math.Abs(3*third-1.5*whole) > 1e-9*whole {
		t.Errorf("whole %v, half %v, a third %v", whole, half, third)
	}
	if few := m.gemmWork(denseGEMM(128, 256, 1000)).alone; math.Abs(few-half) > 1e-9*half {
		t.Errorf("one tile takes %v, and as many as there are SMs %v", few, half)
	}
}

// TestRowScales checks that scales of rows slow a GEMM down on Hopper, and take a kernel after it on Blackwell.
func TestRowScales(t *testing.T) {
	for name, apart := range map[string]bool{"h200": false, "dgx_h200": false, "h100": false, "b200": true, "dgx_b200": true} {
		m, err := LoadMachine(name)
		if err != nil {
			t.Fatal(err)
		}
		p := denseGEMM(4096, 14336, 4096)
		p.DType = domain.FP8E4M3
		plain, kernel := m.GEMMAlone(p), m.KernelAlone(2*p.M*p.N*p.Result.Size())
		p.rowScales = true
		more := m.GEMMAlone(p) - plain
		if m.RowScalesApart != apart || more < 0.01*plain || (math.Abs(more-kernel) < 1e-6*kernel) != apart {
			t.Errorf("%s: a GEMM takes %.1f us, scales of rows %.1f us more, and a kernel %.1f us", name, plain, more, kernel)
		}
	}
}

// TestMessagesShareTheNetwork checks that messages of a rank to other nodes share the network, but not the links inside
// the node.
func TestMessagesShareTheNetwork(t *testing.T) {
	m := bare(t)
	m.NCCL.Pair.Rate, m.Links.Limit = Curve{{1, 10}}, 10
	m.Nodes = &Nodes{Ranks: 2, Latency: 3, Rate: Curve{{1, 1}}}
	across, inside := m.pairWork(1000, false), m.pairWork(1000, true) // 1 us of the network and 3 of latency; 0.1 us
	u := timeline(m, 6)
	u.at(across, 0, 2)
	ends(t, u, 4)
	u = timeline(m, 6)
	full := across
	full.alone, full.in, full.out = 4, 0, 1
	u.at(full, 0, 2)
	u.at(full, 0, 4)
	u.at(inside, 0, 1) // runs at the same time as both messages
	ends(t, u, 8, 8, 0.1)
}

func TestCopiesShareLinks(t *testing.T) {
	m := bare(t)
	pull := m.copyEngine(false, 1000) // 1 us
	u := timeline(m, 3)
	u.at(pull, 0, 2)
	u.at(pull, 1, 2) // from the same peer, which sends to both at half of the rate
	ends(t, u, 2, 2)
	u = timeline(m, 3)
	u.at(pull, 0, 1)
	u.at(pull, 1, 2) // rank 1 receives this copy while it sends the other one
	ends(t, u, 1, 1)
	u = timeline(m, 2)
	u.at(pull, 0, 1)
	u.at(m.copyEngine(true, 500), 1, 0) // rank 0 receives both; the push of 500 bytes ends first
	ends(t, u, 1.5, 1)
}

func TestKernelsShareMemory(t *testing.T) {
	m := bare(t)
	m.HBM = Curve{{1, 1}}
	u := timeline(m, 1)
	first := u.at(work{kind: Copy, alone: 2, hbm: 1}, 0)
	second := u.at(work{kind: Copy, alone: 1, hbm: 1}, 0)
	u.follow(u.at(work{kind: Copy, alone: 1, hbm: 1}, 0), second)
	ends(t, u, 4, 2, 4)
	if u.tasks[2].cause != second || u.tasks[first].cause != -1 {
		t.Errorf("causes %d and %d", u.tasks[2].cause, u.tasks[first].cause)
	}
}

// TestCollectivesTakeSMs checks that a collective takes a quarter of the SMs, so two waves of tiles become three. A
// later collective waits until blocks of the GEMM, which compute tile after tile, have no tile left.
func TestCollectivesTakeSMs(t *testing.T) {
	m := bare(t)
	gemm := func(rows int64) work { return m.gemmWork(denseGEMM(rows, 512, 1000)) }
	full := gemm(128 * 132)
	wave := full.alone / 2
	collective := work{kind: joint, alone: 10 * wave, sms: 0.25}
	u := timeline(m, 1)
	u.tasks = append(u.tasks, task{work: collective, stream: -1, ranks: []int32{0}, first: -1})
	u.at(full, 0)
	ends(t, u, 10*wave, 3*wave)
	later := func(first work, want ...float64) {
		u := timeline(m, 1)
		u.at(first, 0)
		u.tasks = append(u.tasks, task{work: collective, stream: -1, ranks: []int32{0}, first: -1})
		before := u.at(work{kind: EventWait, fixed: wave / 2}, 0)
		u.follow(1, before)
		ends(t, u, want...)
	}
	later(full, 2*wave, 12*wave)
	later(gemm(128*99), wave+1*wave, 11*wave) // 198 tiles: half of the SMs have two
	later(gemm(128*33), wave, 10.5*wave)      // half of the SMs have none
}

// TestCopiesByKernelsSlowGEMMs checks that a GEMM that begins during a copy by a kernel slows down. A GEMM that began
// before the copy does not, nor does a GEMM on the other rank of the copy.
func TestCopiesByKernelsSlowGEMMs(t *testing.T) {
	m := bare(t)
	m.Beside.NCCL = 0.5
	full := m.gemmWork(denseGEMM(128*132, 512, 1000))
	wave := full.alone / 2
	copied := work{kind: Copy, alone: 2 * wave, sms: 0.25}
	u := timeline(m, 2)
	u.at(copied, 0, 1)
	u.at(full, 0) // on the remaining SMs it runs at 2/3 of its rate, halved by the copy
	u.at(full, 1)
	ends(t, u, 2*wave, (2+4./3)*wave, 2*wave)
	u = timeline(m, 2)
	u.at(full, 0)
	u.at(copied, 0, 1)
	ends(t, u, 2*wave, 4*wave)
}

// TestGEMMsQueueForSMs checks that of two GEMMs the second one starts with the SMs that the first one leaves.
func TestGEMMsQueueForSMs(t *testing.T) {
	m := bare(t)
	half := m.gemmWork(denseGEMM(128*66, 256, 1000)) // 66 tiles
	full := m.gemmWork(denseGEMM(128*132, 256, 1000))
	wave := half.alone
	u := timeline(m, 1)
	u.at(half, 0)
	u.at(half, 0)
	ends(t, u, wave, wave)
	u = timeline(m, 1)
	u.at(full, 0)
	u.at(full, 0)
	ends(t, u, wave, 2*wave)
}

// TestGEMMsSharePower checks that GEMMs that the power limit bounds take as long concurrently as one after the other,
// even if they leave SMs free.
func TestGEMMsSharePower(t *testing.T) {
	m := bare(t)
	half := m.gemmWork(denseGEMM(128*66, 256, 1000)) // 66 tiles
	bound := *half.gemm
	bound.floor, half.gemm = half.alone, &bound
	u := timeline(m, 1)
	u.at(half, 0)
	u.at(half, 0)
	ends(t, u, 2*half.alone, 2*half.alone)
}

func TestExposure(t *testing.T) {
	move, gemm, add := &calls.StreamWait{}, &calls.Gemm{}, &calls.Launch{}
	p := &Prediction{Calls: []Call{
		{Kind: NCCLCall, Stmt: move, Name: "gather", Begin: 0, End: 10},
		{Kind: GEMM, Stmt: gemm, Name: "gemm", Begin: 2, End: 5},
		{Kind: GEMM, Stmt: gemm, Name: "gemm", Begin: 3, End: 6},
		{Kind: Kernel, Stmt: add, Name: "add", Begin: 6, End: 7},
		{Kind: NCCLCall, Stmt: move, Name: "gather", Begin: 12, End: 14},
		{Kind: GEMM, Stmt: gemm, Name: "gemm", Begin: 13, End: 20},
		{Kind: FlagWait, Stmt: move, Name: "wait", Begin: 0, End: 20},
	}}
	p.expose()
	if len(p.Communications) != 1 || p.Exposed != 6 {
		t.Fatalf("%v exposed of %+v", p.Exposed, p.Communications)
	}
	e := p.Communications[0]
	if e.Times != 2 || e.Total != 12 || e.Exposed != 6 || e.Hidden != 6 || len(e.Behind) != 2 || e.Behind[0] != (Share{"gemm", 5}) ||
		e.Behind[1] != (Share{"add", 1}) {
		t.Errorf("%+v", e)
	}
}

func TestCurve(t *testing.T) {
	c := Curve{{100, 1}, {10000, 3}}
	for bytes, want := range map[float64]float64{1: 1, 100: 1, 1000: 2, 10000: 3, 1e9: 3} {
		if got := c.At(bytes); math.Abs(got-want) > 1e-9 {
			t.Errorf("at %v bytes it is %v, not %v", bytes, got, want)
		}
	}
}
