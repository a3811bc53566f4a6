package timeline

import (
	"regexp"
	"slices"
)

// Kind is the kind of work of a slice. It determines the look of the slice.
type Kind uint8

// The kinds of slice.
const (
	GEMM   Kind = iota
	Kernel      // any other kernel, a local copy or a memset
	NCCL        // a communication by NCCL
	Copy        // a transfer by a copy engine, or by a kernel of the runtime
	Wait        // an event or a flag is recorded, written or waited for: not work
	host        // not on a stream of a device
)

// String returns the name of a kind, which is also the CSS class of its slices.
func (k Kind) String() string {
	return [...]string{"gemm", "kernel", "nccl", "copy", "wait", "host"}[k]
}

// Label returns the label of a kind on the page.
func (k Kind) Label() string {
	return [...]string{"GEMM", "other kernel", "NCCL", "copy between ranks", "wait, event, flag", "host"}[k]
}

// Computes reports whether a slice is a GEMM or other work on local data.
func (k Kind) Computes() bool { return k <= Kernel }

// Moves reports whether a slice moves data between ranks.
func (k Kind) Moves() bool { return k == NCCL || k == Copy }

// Works reports whether a slice does anything but wait.
func (k Kind) Works() bool { return k <= Copy }

// byCategory maps categories in traces of hirgen and of PyTorch's profiler to kinds.
var byCategory = map[string]Kind{
	"gemm": GEMM, "kernel": Kernel, "nccl": NCCL, "copy": Copy, "peer_read": Copy,
	"event wait": Wait, "event record": Wait, "flag wait": Wait, "flag write": Wait,
	"gpu_memcpy": Kernel, "gpu_memset": Kernel,
}

// hostCategories are categories of PyTorch's profiler for events that are no work of a GPU.
var hostCategories = []string{
	"cpu_op", "user_annotation", "gpu_user_annotation", "cuda_runtime", "cuda_driver", "cuda_sync", "python_function", "overhead",
	"Trace", "cpu_instant_event", "ac2g", "fwdbwd", "async_cpu_to_gpu", "cuda_profiler_range",
}

// Patterns of names, for NCCL's kernels, GEMM kernels of libraries, and transfers between ranks. For most slices of
// hirgen's traces, the category alone gives the kind.
var (
	ncclKernel = regexp.MustCompile(`(?i)nccl`)
	gemmKernel = regexp.MustCompile(`(?i)gemm|nvjet|cutlass|cublas|xmma|matmul_kernel`)
	transfer   = regexp.MustCompile(`: (send|receive) of |^Memcpy PtoP`)
)

// kindOf returns the kind of a slice. For an unknown category, or a known one that stands for Kernel, the name decides. If
// the name matches no pattern, the kind is Kernel.
func kindOf(category, name string) Kind {
	kind, known := byCategory[category]
	switch {
	case slices.Contains(hostCategories, category):
		return host
	case known && kind != Kernel:
		return kind
	case ncclKernel.MatchString(name):
		return NCCL
	case transfer.MatchString(name):
		return Copy
	case gemmKernel.MatchString(name):
		return GEMM
	}
	return Kernel
}
