package cost

import (
	"github.com/hirgen/hirgen/calls/collective"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// Alone returns how long a statement takes on an idle machine, in microseconds. That is a lower bound of its
// time when other work runs. It is 0 for statements that neither compute nor move data.
func (m *Machine) Alone(s hostir.Stmt) float64 {
	switch s := s.(type) {
	case *hostir.Communication:
		if s.Type == collective.SendRecv {
			return m.copied(bytesOf(s.Out))
		}
		w := m.collective(s, spread{1, int(s.TeamSize())})
		return w.fixed + w.alone
	case *hostir.P2PCommunication:
		if s.Owns() {
			return m.Device.Flag
		}
		return m.copied(bytesOf(s.Buffer))
	}
	if hostir.Result(s) == nil {
		return 0
	}
	w := m.workOf(s)
	return w.fixed + w.alone
}

// copied returns the time of a copy between two GPUs.
func (m *Machine) copied(bytes int64) float64 {
	return m.Device.Copy + m.Links.Pull.Time(float64(bytes))
}
