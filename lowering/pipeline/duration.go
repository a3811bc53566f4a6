package pipeline

import "github.com/hirgen/hirgen/lowering/hostir"

// Rough figures of a current GPU, for the order of issue alone: only their ratios matter, and they are
// the same on all ranks.
const (
	flopsPerNs  = 600_000 // of 16-bit GEMMs
	memoryPerNs = 3_000   // bytes
	linkPerNs   = 300     // bytes
	launchNs    = 3_000
	transferNs  = 8_000
)

// duration is how long an instance of the task takes by itself, in ns, roughly.
func (t *Task) duration() int64 {
	bytes := int64(0)
	for _, tensor := range hostir.Mentions(t.Stmt) {
		bytes += hostir.LocalElements(tensor) * tensor.DType.Size()
	}
	if t.IsTransfer() {
		return transferNs + bytes/linkPerNs
	}
	var a, out *hostir.Tensor
	switch s := t.Stmt.(type) {
	case *hostir.Matmul:
		a, out = s.A, s.Out
	case *hostir.Linear:
		a, out = s.X, s.Out
	default:
		return launchNs + bytes/memoryPerNs
	}
	shape := hostir.LocalShape(a)
	return launchNs + 2*hostir.LocalElements(out)*shape[len(shape)-1]/flopsPerNs
}

// resource is what the task keeps busy: the caller's stream, the stream of a communicator, or that of
// copies between shared memories.
func (t *Task) resource() string {
	switch s := t.Stmt.(type) {
	case *hostir.Communication:
		return "communicator " + s.Mesh.Name + " " + s.MeshAxis
	case *hostir.P2PCommunication:
		if t.Exchange != nil {
			return hostir.CopyStream
		}
		return "communicator"
	default:
		return onCaller
	}
}
