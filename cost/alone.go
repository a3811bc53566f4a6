package cost

import "github.com/hirgen/hirgen/calls/collective"

// This file has the times of calls on an idle machine, in microseconds. They are lower bounds of the times of these calls
// while other work runs.

func (w work) idle() float64 { return w.fixed + w.alone }

// GEMMAlone returns the time of a GEMM on an idle machine, in microseconds.
func (m *Machine) GEMMAlone(p GEMMSize) float64 { return m.gemmWork(p).idle() }

// AttentionAlone returns the time of an attention on an idle machine, in microseconds.
func (m *Machine) AttentionAlone(s AttentionSize) float64 { return m.attentionWork(s).idle() }

// KernelAlone returns the time on an idle machine, in microseconds, of a kernel that reads and writes that many bytes
// in total, and does little else.
func (m *Machine) KernelAlone(bytes int64) float64 { return m.bytesWork(float64(bytes)).idle() }

// CopyAlone returns the time on an idle machine, in microseconds, of a copy from another GPU by a copy engine.
func (m *Machine) CopyAlone(bytes int64) float64 {
	return m.Device.Copy + m.Links.Pull.Time(float64(bytes))
}

// CollectiveAlone returns the time on an idle machine, in microseconds, of a collective of ranks on one node, given
// the bytes of its operand and of its result.
func (m *Machine) CollectiveAlone(form collective.Form, in, out int64, ranks int) float64 {
	return m.collective(form, float64(in), float64(out), spread{ranks, 1, ranks}).idle()
}
