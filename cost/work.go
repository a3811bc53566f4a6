package cost

import (
	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/model/domain"
)

// The speed of attention, as a share of the sustained rate of GEMMs: with cuDNN, and with the tiled kernels
// of the runtime, forward and for the gradient (docs/design/attention.md has the measurements).
const (
	cudnnRate     = 0.6
	tiledRate     = 0.15
	tiledGradRate = 0.125
)

// WithoutCudnn returns the machine with attention computed by the tiled kernels of the runtime.
func (m *Machine) WithoutCudnn() *Machine {
	other := *m
	other.tiled = true
	return &other
}

// AttentionSize is an attention, or the gradient of one, on one rank.
type AttentionSize struct {
	domain.AttentionShape
	Kind  domain.Attention
	DType domain.DType
	Grad  bool
	Bytes int64 // bytes of all operands and results
}

// attentionRate returns the speed of an attention, as a share of the sustained rate of GEMMs.
func (m *Machine) attentionRate(s AttentionSize) float64 {
	switch {
	case !m.tiled && s.CudnnObstacle(s.DType, s.Kind.Causal) == "":
		return cudnnRate
	case s.Grad:
		return tiledGradRate
	default:
		return tiledRate
	}
}

// attentionWork returns the work of an attention, which is two GEMMs over the keys that each query sees, or of its gradient, which
// is five.
func (m *Machine) attentionWork(s AttentionSize) work {
	seen := s.Kind.SeenByAll(s.Start, s.QueryRows, s.KeyRows)
	products := 2.0
	if s.Grad {
		products = 5
	}
	flops := 2 * products * float64(s.Blocks*s.Batch*s.QueryHeads*s.Size) * seen
	w := m.bytesWork(float64(s.Bytes))
	if alone := flops / (m.attentionRate(s) * m.gemmRate(s.DType).Sustained) / 1e6; alone > w.alone {
		w.hbm, w.alone = w.hbm*w.alone/alone, alone
	}
	return w
}

// gemmWork returns the work of a GEMM by cuBLASLt.
func (m *Machine) gemmWork(p GEMMSize) work {
	g := m.gemmOf(p)
	w := work{kind: GEMM, fixed: m.Device.GEMM, alone: g.on(float64(m.SMs)), gemm: &g, host: m.Host.GEMM}
	w.sms = g.used(m.SMs)
	if w.alone > 0 {
		w.hbm = min(1, m.HBM.Time(float64(p.bytes()))/w.alone)
	}
	return w
}

// bytesWork returns the work of a kernel that reads and writes that many bytes in total and does little else. Bytes
// that fit in the L2 cache move at its rate.
func (m *Machine) bytesWork(bytes float64) work {
	w := work{kind: Kernel, fixed: m.Device.Kernel, alone: m.HBM.Time(bytes) / m.Kernels, sms: 1, hbm: 1, host: m.Host.Kernel}
	if bytes <= float64(m.L2Bytes) {
		w.alone = bytes / m.L2 / 1e3
	}
	return w
}

// overLinks returns the work of a kernel that reads w.in bytes from peers and writes w.out bytes to peers. Its writes
// follow its reads. The accesses to its own memory, which take w.alone, overlap with both.
func (m *Machine) overLinks(w work) work {
	w.kind, w.moved = PeerRead, max(w.in, w.out)
	in, out, memory := m.Links.SM.Time(w.in), m.Links.SM.Time(w.out), w.alone
	w.alone = max(in+out, memory)
	if w.alone > 0 {
		w.in, w.out, w.hbm = in/w.alone, out/w.alone, memory/w.alone
	}
	return w
}

// copyEngine returns the work of a transfer by a copy engine, on the rank that copies.
func (m *Machine) copyEngine(puts bool, bytes int64) work {
	curve := m.Links.Pull
	if puts {
		curve = m.Links.Push
	}
	w := work{kind: Copy, fixed: m.Device.Copy, alone: curve.Time(float64(bytes)), host: m.Host.Copy}
	return m.occupies(w, puts, float64(bytes))
}

// copyKernel returns the work of a transfer by a kernel, which also waits for flags and sets them.
func (m *Machine) copyKernel(puts bool, bytes int64) work {
	w := work{
		kind: Copy, fixed: m.Device.Kernel + m.Device.Flag, alone: m.Links.SM.Time(float64(bytes)), host: m.Host.Kernel,
		sms: float64(m.Links.SMs) / float64(m.SMs),
	}
	return m.occupies(w, puts, float64(bytes))
}

// occupies sets the bytes of a transfer, and the shares of links and memory that it uses.
func (m *Machine) occupies(w work, puts bool, bytes float64) work {
	w.moved = bytes
	if w.alone <= 0 {
		return w
	}
	rate := bytes / w.alone / 1e3
	w.hbm = min(1, rate/m.HBM.At(bytes))
	if w.in = min(1, rate/m.Links.Limit); puts {
		w.in, w.out = 0, w.in
	}
	return w
}

// pairWork returns the work of a message over NCCL; together means that both ranks are on one node.
func (m *Machine) pairWork(bytes int64, together bool) work {
	w := work{alone: m.NCCL.Pair.Latency + m.NCCL.Pair.Rate.Time(float64(bytes)), sms: float64(m.NCCL.SMs) / float64(m.SMs)}
	w = m.occupies(w, true, float64(bytes))
	if !together {
		w = m.overNetwork(w, float64(bytes), 1)
	}
	return w
}

// collective returns the work of a collective on each of its ranks, by the bytes of its operand and result.
func (m *Machine) collective(form collective.Form, in, out float64, on spread) work {
	if on.ranks == 1 {
		return m.bytesWork(in + out)
	}
	moved, steps := form.Ring(in, out, float64(on.ranks))
	rows := m.NCCL.Teams
	if form.Rounds() > 1 {
		rows = m.NCCL.Allreduce
	}
	low, high, part := around(rows, on.ranks)
	at := func(row NCCLRow) float64 { return row.Latency + row.Rate.Time(moved) }
	w := work{alone: at(low) + part*(at(high)-at(low)) + steps*m.NCCL.StepTime, sms: float64(m.NCCL.SMs) / float64(m.SMs)}
	w = m.occupies(w, true, moved)
	w.in = w.out
	return m.acrossNodes(w, form, moved, steps, on)
}

// around returns the rows with the nearest numbers of ranks below and above, and the position of ranks
// between them, from 0 to 1.
func around(rows []NCCLRow, ranks int) (low, high NCCLRow, part float64) {
	low, high = rows[0], rows[len(rows)-1]
	for _, row := range rows {
		if row.Ranks <= ranks && row.Ranks >= low.Ranks {
			low = row
		}
		if row.Ranks >= ranks && row.Ranks <= high.Ranks {
			high = row
		}
	}
	if high.Ranks <= low.Ranks || ranks <= low.Ranks {
		return low, low, 0
	}
	if ranks >= high.Ranks {
		return high, high, 0
	}
	return low, high, float64(ranks-low.Ranks) / float64(high.Ranks-low.Ranks)
}

// inGraph returns work as a node of a CUDA graph, which the host does not issue. A wait for an event becomes an edge of
// the graph and takes no time, and neither does other work that takes no longer and computes nothing.
func (m *Machine) inGraph(w work) work {
	w.host = 0
	switch {
	case w.gemm != nil:
	case w.alone == 0 && w.fixed <= m.Device.Event:
		w.fixed = 0
	case w.kind == Copy && w.sms == 0: // a copy engine, which starts no earlier in a graph
	default:
		w.fixed = min(w.fixed, m.Device.Node)
	}
	return w
}
