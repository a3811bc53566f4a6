package cost

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// bytesOf returns the size of a tensor on one rank.
func bytesOf(t *hostir.Tensor) int64 {
	bytes := t.DType.Size()
	for _, size := range hostir.LocalShape(t) {
		bytes *= size
	}
	return bytes
}

// workOf returns the work of a statement that computes on one rank.
func (m *Machine) workOf(s hostir.Stmt) work {
	switch s := s.(type) {
	case *hostir.Matmul, *hostir.Linear:
		return m.gemmWork(gemmShapeOf(s))
	case *hostir.Attention:
		return m.attentionWork(s)
	}
	bytes := int64(0)
	for _, t := range hostir.Mentions(s) {
		bytes += bytesOf(t)
	}
	return m.bytesWork(float64(bytes))
}

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

// attentionRate returns the speed of an attention, as a share of the sustained rate of GEMMs.
func (m *Machine) attentionRate(s *hostir.Attention, shape domain.AttentionShape) float64 {
	switch {
	case !m.tiled && shape.CudnnObstacle(s.Queries().DType, s.Kind().Causal) == "":
		return cudnnRate
	case s.IsGrad():
		return tiledGradRate
	default:
		return tiledRate
	}
}

// attentionWork returns the work of an attention, with two products for each key that a query sees, or of its
// gradient, with five.
func (m *Machine) attentionWork(s *hostir.Attention) work {
	shape := s.Shape(false, func(*domain.Mesh, string) int64 { return 0 })
	seen := s.Kind().SeenByAll(shape.Start, shape.QueryRows, shape.KeyRows)
	products := 2.0
	if s.IsGrad() {
		products = 5
	}
	flops := 2 * products * float64(shape.Blocks*shape.Batch*shape.QueryHeads*shape.Size) * seen
	bytes := int64(0)
	for _, t := range hostir.Mentions(s) {
		bytes += bytesOf(t)
	}
	w := m.bytesWork(float64(bytes))
	if alone := flops / (m.attentionRate(s, shape) * m.gemmRate(s.Queries().DType).Sustained) / 1e6; alone > w.alone {
		w.hbm, w.alone = w.hbm*w.alone/alone, alone
	}
	return w
}

// gemmShapeOf returns the GEMM of a statement. If the second operand has batches, each batch is a GEMM.
// Otherwise all rows of the first operand are in one GEMM. An epilogue costs as much as reading the result.
func gemmShapeOf(s hostir.Stmt) gemmShape {
	out, operands := hostir.Result(s), hostir.Uses(s)
	rows, second := hostir.LocalShape(operands[0]), hostir.LocalShape(operands[1])
	p := gemmShape{m: 1, n: 1, k: rows[len(rows)-1], batch: 1, dtype: operands[0].DType}
	for _, size := range second[:len(second)-2] {
		p.batch *= size
	}
	result := hostir.LocalShape(out)
	p.n, p.result = result[len(result)-1], out.DType
	p.rowA, p.rowB = rowOf(operands[0]), rowOf(operands[1])
	for _, size := range result[:len(result)-1] {
		p.m *= size
	}
	p.batch = min(p.batch, p.m)
	p.m /= p.batch
	for _, t := range operands[2:] {
		p.extra += bytesOf(t)
	}
	if hostir.Epilogue(s) != "" {
		p.extra += bytesOf(out)
	}
	return p
}

// rowOf returns how many elements of a tensor are next to each other in memory, as a row of a matrix.
func rowOf(t *hostir.Tensor) int64 {
	live := hostir.Live(t)
	for _, axis := range slices.Backward(hostir.Layout(t)) {
		if slices.Contains(live, axis) && t.Axes[axis].LocalSize() > 1 {
			return t.Axes[axis].LocalSize()
		}
	}
	return 1
}

// gemmWork returns the work of a GEMM by cuBLASLt.
func (m *Machine) gemmWork(p gemmShape) work {
	g := m.gemmOf(p)
	w := work{kind: GEMM, fixed: m.Device.GEMM, alone: g.on(float64(m.SMs)), gemm: &g, host: m.Host.GEMM}
	w.sms = g.used(m.SMs)
	if w.alone > 0 {
		w.hbm = min(1, m.HBM.Time(float64(p.bytes()))/w.alone)
	}
	return w
}

// bytesWork returns the work of a kernel that reads and writes that many bytes and does little else.
func (m *Machine) bytesWork(bytes float64) work {
	w := work{kind: Kernel, fixed: m.Device.Kernel, alone: m.HBM.Time(bytes) / m.Kernels, sms: 1, hbm: 1, host: m.Host.Kernel}
	if bytes <= float64(m.L2Bytes) {
		w.alone = bytes / m.L2 / 1e3
	}
	return w
}

// overLinks returns the work of a kernel whose in and out are the bytes that it reads from and writes to
// peers. It stores what it has read, so reads and writes follow each other. It uses its own memory at the
// same time.
func (m *Machine) overLinks(w work) work {
	w.kind = PeerRead
	in, out, memory := m.Links.SM.Time(w.in), m.Links.SM.Time(w.out), w.alone
	w.alone = max(in+out, memory)
	if w.alone > 0 {
		w.in, w.out, w.hbm = in/w.alone, out/w.alone, memory/w.alone
	}
	return w
}

// copyEngine returns the work of a transfer by a copy engine, on the rank that copies.
func (m *Machine) copyEngine(by hostir.Backend, bytes int64) work {
	curve := m.Links.Pull
	if by == hostir.IPCPut {
		curve = m.Links.Push
	}
	w := work{kind: Copy, fixed: m.Device.Copy, alone: curve.Time(float64(bytes)), host: m.Host.Copy}
	return m.occupies(w, by == hostir.IPCPut, float64(bytes))
}

// copyKernel returns the work of a transfer by a kernel, which also waits for flags and sets them.
func (m *Machine) copyKernel(by hostir.Backend, bytes int64) work {
	w := work{
		kind: Copy, fixed: m.Device.Kernel + m.Device.Flag, alone: m.Links.SM.Time(float64(bytes)), host: m.Host.Kernel,
		sms: float64(m.Links.SMs) / float64(m.SMs),
	}
	return m.occupies(w, by == hostir.IPCPut, float64(bytes))
}

// occupies sets the shares of links and memory that a transfer uses.
func (m *Machine) occupies(w work, puts bool, bytes float64) work {
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

// collective returns the work of a collective on each of its ranks.
func (m *Machine) collective(s *hostir.Communication, on spread) work {
	ranks := int(s.TeamSize())
	if ranks == 1 {
		return m.bytesWork(float64(bytesOf(s.In) + bytesOf(s.Out)))
	}
	form := s.Type.Row()
	moved, steps := form.Ring(float64(bytesOf(s.In)), float64(bytesOf(s.Out)), float64(ranks))
	rows := m.NCCL.Teams
	if form.Rounds() > 1 {
		rows = m.NCCL.Allreduce
	}
	low, high, part := around(rows, ranks)
	at := func(row NCCLRow) float64 { return row.Latency + row.Rate.Time(moved) }
	w := work{alone: at(low) + part*(at(high)-at(low)) + steps*m.NCCL.StepTime, sms: float64(m.NCCL.SMs) / float64(m.SMs)}
	w = m.occupies(w, true, moved)
	w.in = w.out
	return m.acrossNodes(w, s, moved, steps, on)
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

// inGraph returns work as a node of a CUDA graph, which the host does not issue. A call that only orders
// streams becomes an edge of the graph and takes no time.
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
