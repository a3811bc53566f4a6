package cost

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/model/domain"
)

// A Machine describes GPUs of one kind and the links between them. docs/predictions.md explains the fields of
// its JSON form.
type Machine struct {
	Name   string `json:"name"`
	Source string `json:"source"` // where the figures come from
	// Like names a machine that comes with hirgen. Fields that the file leaves out have the values of that
	// machine.
	Like string `json:"like,omitempty"`
	// Published means that figures of the GPUs come from data sheets, or are scaled from other GPUs by data
	// sheets.
	Published bool `json:"published,omitempty"`
	SMs       int  `json:"sms"`
	// GEMM has the rates of GEMMs by element type.
	GEMM map[domain.DType]GEMMRate `json:"gemm"`
	// RowScalesApart means that a kernel scales the rows and columns of the result after a GEMM of 8-bit types, because cuBLASLt
	// cannot on these GPUs.
	RowScalesApart bool `json:"row_scales_apart,omitempty"`
	// Tiles are the shapes of tiles that a GEMM's result may be cut into. An SM computes one tile after the
	// other.
	Tiles []Tile `json:"tiles"`
	// HBM is the memory bandwidth by the number of bytes read and written. Kernels that do little else reach
	// the share Kernels of it. L2 is the rate for data that fits in the cache of L2Bytes.
	HBM     Curve   `json:"hbm_gbps"`
	Kernels float64 `json:"kernel_share"`
	L2      float64 `json:"l2_gbps"`
	L2Bytes int64   `json:"l2_bytes"`
	Device  Fixed   `json:"device_us"`
	Host    Issue   `json:"host_us"`
	Links   Links   `json:"links"`
	NCCL    NCCL    `json:"nccl"`
	Beside  Beside  `json:"beside"`
	Nodes   *Nodes  `json:"nodes,omitempty"` // nil: all ranks are on one node

	tiled bool // attention runs on the tiled kernels of the runtime instead of cuDNN
}

// GEMMRate is the speed of GEMMs. Sustained is the rate of a GPU under its power limit. Peak is the rate that all of
// its SMs would reach if each were as fast as it is while few of them are busy.
type GEMMRate struct {
	Sustained float64 `json:"sustained_tflops"`
	Peak      float64 `json:"peak_tflops"`
}

// Tile is a shape of a GEMM's tiles, and its share of the rate of the best shape.
type Tile struct {
	M         int64   `json:"m"`
	N         int64   `json:"n"`
	Sustained float64 `json:"sustained"` // of GEMMRate.Sustained
	Peak      float64 `json:"peak"`      // of GEMMRate.Peak
}

// Fixed is the fixed time of calls on their streams, in microseconds, in addition to the work that they do.
type Fixed struct {
	Call      float64 `json:"call"`       // once for each call of a program that is not a CUDA graph
	Graph     float64 `json:"graph"`      // the launch of a call that is a CUDA graph
	Node      float64 `json:"graph_node"` // upper limit for a call in a graph, except GEMMs and copy engines
	Kernel    float64 `json:"kernel"`     // a kernel
	GEMM      float64 `json:"gemm"`       // a GEMM: its kernel, first loads and last stores
	Event     float64 `json:"event"`      // one stream waits for an event of another
	Flag      float64 `json:"flag"`       // a stream memory operation, or a kernel that replaces it
	FlagBatch float64 `json:"flag_batch"` // each additional flag of a batch
	Copy      float64 `json:"copy"`       // a copy by a copy engine
	Tile      float64 `json:"tile"`       // first loads and last stores of each tile of a GEMM
	Split     float64 `json:"split"`      // the reduction of a split-K GEMM; 0: no GEMM uses split-K
}

// Issue is the time that the host takes to issue calls, one after the other, in microseconds.
type Issue struct {
	Call   float64 `json:"call"` // once for each call of a program that is not a CUDA graph
	Kernel float64 `json:"kernel"`
	GEMM   float64 `json:"gemm"`
	Event  float64 `json:"event"` // a record or a wait
	Flag   float64 `json:"flag"`
	Copy   float64 `json:"copy"`
	NCCL   float64 `json:"nccl"`
	Graph  float64 `json:"graph"` // a whole call, captured as a CUDA graph
}

// Links are the rates between one GPU and its peers, by the bytes of a transfer. Copy engines read from a
// peer (Pull) or write to it (Push); kernels copy with SMs (SM). All transfers of a GPU in one direction
// share Limit.
type Links struct {
	Pull  Curve   `json:"pull_gbps"`
	Push  Curve   `json:"push_gbps"`
	SM    Curve   `json:"sm_copy_gbps"`
	SMs   int     `json:"sm_copy_sms"`
	Limit float64 `json:"limit_gbps"`
}

// NCCL is the time of collectives: a latency, a time for each step of a ring, and the bytes that a rank sends
// divided by their rate. Rows are in ascending order of ranks.
type NCCL struct {
	SMs       int       `json:"sms"`
	StepTime  float64   `json:"step_us"`
	Pair      NCCLRow   `json:"pair"` // a send with its receive
	Allreduce []NCCLRow `json:"allreduce"`
	Teams     []NCCLRow `json:"teams"` // all other collectives
}

// NCCLRow has the figures for one number of ranks.
type NCCLRow struct {
	Ranks   int     `json:"ranks"`
	Latency float64 `json:"latency_us"`
	Rate    Curve   `json:"gbps"`
}

// Beside is the share of its rate that a GEMM loses while something else runs.
type Beside struct {
	GEMM float64 `json:"gemm"` // while another GEMM runs, in addition to the SMs that it takes
	Copy float64 `json:"copy"` // while a transfer fills the links
	NCCL float64 `json:"nccl"` // while a collective or an earlier copy by a kernel runs, in addition to its SMs
}

// gemmRate returns the rate of an element type. A type of at most 16 bits without a rate has the rate of bf16, or
// shortRate times that if it is an 8-bit floating-point type. A wider type without a rate has the rate 0.
func (m *Machine) gemmRate(t domain.DType) GEMMRate {
	rate, ok := m.GEMM[t]
	switch {
	case ok || t.Size() > 2:
		return rate
	case t.Saturates():
		rate = m.gemmRate(domain.BF16)
		return GEMMRate{shortRate * rate.Sustained, shortRate * rate.Peak}
	}
	return m.GEMM[domain.BF16]
}

// shortRate is the speed of GEMMs of 8-bit types relative to bf16: 1.6 to 1.9 on an H200.
const shortRate = 1.75

// rowScalesSlowdown is the time of a GEMM of 8-bit types with scales of rows relative to the same GEMM without: 1.01 to
// 1.10 on an H200 (docs/fp8.md), without the one size at which it is faster.
const rowScalesSlowdown = 1.045

// mistake returns the first field with an invalid value, and why it is invalid; "" if there is none.
func (m *Machine) mistake() (field, why string) {
	for _, dtype := range domain.DTypes {
		if rate := m.gemmRate(dtype); rate.Sustained <= 0 || rate.Peak < rate.Sustained {
			return "gemm." + string(dtype), "needs 0 < sustained_tflops <= peak_tflops"
		}
	}
	for _, t := range m.Tiles {
		if t.M < 1 || t.N < 1 || t.Sustained <= 0 || t.Peak <= 0 {
			return "tiles", "has one without a size or a share of the rate"
		}
	}
	type namedCurve struct {
		name  string
		curve Curve
	}
	curves := []namedCurve{
		{"hbm_gbps", m.HBM}, {"links.pull_gbps", m.Links.Pull}, {"links.push_gbps", m.Links.Push},
		{"links.sm_copy_gbps", m.Links.SM}, {"nccl.pair.gbps", m.NCCL.Pair.Rate},
	}
	if m.Nodes != nil {
		curves = append(curves, namedCurve{"nodes.gbps", m.Nodes.Rate})
	}
	for _, row := range slices.Concat(m.NCCL.Allreduce, m.NCCL.Teams) {
		curves = append(curves, namedCurve{fmt.Sprintf("nccl, %d ranks, gbps", row.Ranks), row.Rate})
	}
	for _, c := range curves {
		if why := c.curve.mistake(); why != "" {
			return c.name, why
		}
	}
	return m.numbersMistake()
}

// numbersMistake checks the fields with single numbers, and the order of the NCCL rows. Its results have the same
// meaning as the results of mistake.
func (m *Machine) numbersMistake() (field, why string) {
	for _, n := range []struct {
		name  string
		value float64
	}{
		{"sms", float64(m.SMs)}, {"kernel_share", m.Kernels}, {"tiles", float64(len(m.Tiles))}, {"l2_gbps", m.L2},
		{"links.limit_gbps", m.Links.Limit}, {"nccl.teams", float64(len(m.NCCL.Teams))},
		{"nccl.allreduce", float64(len(m.NCCL.Allreduce))},
	} {
		if n.value <= 0 {
			return n.name, "is missing"
		}
	}
	if m.Kernels > 1 {
		return "kernel_share", "is more than 1"
	}
	byRanks := func(a, b NCCLRow) int { return a.Ranks - b.Ranks }
	switch {
	case m.Nodes != nil && (m.Nodes.Ranks < 1 || m.Nodes.Latency < 0):
		return "nodes", "needs ranks of at least 1, and no latency_us below 0"
	case m.NCCL.SMs < 0 || m.NCCL.SMs >= m.SMs:
		return "nccl.sms", "is not fewer than all SMs"
	case m.Links.SMs < 0 || m.Links.SMs >= m.SMs:
		return "links.sm_copy_sms", "is not fewer than all SMs"
	case m.Beside.GEMM < 0 || m.Beside.GEMM > 0.5:
		return "beside.gemm", "is not in 0 to 0.5"
	case m.Beside.Copy < 0 || m.Beside.Copy > 0.5:
		return "beside.copy", "is not in 0 to 0.5"
	case m.Beside.NCCL < 0 || m.Beside.NCCL > 0.5:
		return "beside.nccl", "is not in 0 to 0.5"
	case !slices.IsSortedFunc(m.NCCL.Teams, byRanks), !slices.IsSortedFunc(m.NCCL.Allreduce, byRanks):
		return "nccl.teams or nccl.allreduce", "is not in the order of ranks"
	}
	d, h := m.Device, m.Host
	if min(d.Call, d.Graph, d.Node, d.Kernel, d.GEMM, d.Event, d.Flag, d.FlagBatch, d.Copy, d.Tile, d.Split, h.Call, h.Kernel, h.GEMM, h.Event,
		h.Flag, h.Copy, h.NCCL, h.Graph, m.NCCL.StepTime) < 0 {
		return "device_us, host_us or nccl.step_us", "has a negative time"
	}
	return "", ""
}
