package timeline

import (
	"regexp"
	"slices"
)

// Kind says what a slice does, and so how it looks.
type Kind uint8

// The kinds of slice.
const (
	GEMM   Kind = iota
	Kernel      // any other kernel
	NCCL        // a communication by NCCL
	Copy        // a transfer by a copy engine, or by a kernel of the runtime
	Wait        // an event or a flag: no work
	host        // not on a stream of a device
)

// String is the name of a kind, and the class of its slices on the page.
func (k Kind) String() string {
	return [...]string{"gemm", "kernel", "nccl", "copy", "wait", "host"}[k]
}

// Label is what the page calls a kind.
func (k Kind) Label() string {
	return [...]string{"GEMM", "other kernel", "NCCL", "copy between ranks", "wait, event, flag", "host"}[k]
}

// Computes reports whether a slice works on what its rank has.
func (k Kind) Computes() bool { return k <= Kernel }

// Moves reports whether a slice moves data.
func (k Kind) Moves() bool { return k == NCCL || k == Copy }

// Works reports whether a slice does anything but wait.
func (k Kind) Works() bool { return k <= Copy }

// byCategory are the categories of traces of hirgen, and those of PyTorch's profiler.
var byCategory = map[string]Kind{
	"gemm": GEMM, "kernel": Kernel, "nccl": NCCL, "copy": Copy, "peer_read": Copy,
	"event wait": Wait, "event record": Wait, "flag wait": Wait, "flag write": Wait,
	"gpu_memcpy": Kernel, "gpu_memset": Kernel,
}

// hostCategories are those of PyTorch's profiler that no stream of a device has.
var hostCategories = []string{
	"cpu_op", "user_annotation", "gpu_user_annotation", "cuda_runtime", "cuda_driver", "cuda_sync", "python_function", "overhead",
	"Trace", "cpu_instant_event", "ac2g", "fwdbwd", "async_cpu_to_gpu", "cuda_profiler_range",
}

// What libraries call their kernels; hirgen's own traces have a category for each kind, and names of statements.
var (
	ncclKernel = regexp.MustCompile(`(?i)nccl`)
	gemmKernel = regexp.MustCompile(`(?i)gemm|nvjet|cutlass|cublas|xmma|matmul_kernel`)
	transfer   = regexp.MustCompile(`: (send|receive) of |^Memcpy PtoP`)
)

// kindOf is the kind of a slice. A category that is not known is that of a kernel.
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
