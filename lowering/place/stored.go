package place

import (
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
)

// traffic records which operands and results kernels read from memory and write to it. Pass fuse-elementwise fuses operations on
// elements into few kernels, so that most of their operands and results never reach memory.
type traffic struct {
	// writes has the outputs, and each tensor with a reader that is not onElements, also if this reader reads a view
	// of the tensor.
	writes map[*hostir.Tensor]bool
	// reads has the operands that each statement loads from memory. It lacks operands that stay inside a fused kernel, and
	// operands that an earlier statement of a fused kernel has loaded. It has no meaning for statements that make views.
	reads map[hostir.Stmt]map[*hostir.Tensor]bool
}

// onElements reports whether the prices assume that a statement becomes a part of a fused kernel.
func onElements(s hostir.Stmt) bool {
	switch s.(type) {
	case *hostir.Unary, *hostir.Binary, *hostir.Cast, *hostir.Reduce:
		return true
	default:
		return false
	}
}

// trafficOf finds the traffic of a program from the makers and readers of its tensors.
func trafficOf(body []hostir.Stmt) traffic {
	t := traffic{map[*hostir.Tensor]bool{}, map[hostir.Stmt]map[*hostir.Tensor]bool{}}
	for i := len(body) - 1; i >= 0; i-- {
		s := body[i]
		for _, out := range hostir.Defs(s) {
			t.writes[out] = t.writes[out] || out.Role == hostir.Output
		}
		for _, in := range hostir.Uses(s) {
			if hostir.MakesView(s) {
				t.writes[in] = t.writes[in] || t.writes[hostir.Result(s)]
			} else if !onElements(s) {
				t.writes[in] = true
			}
		}
	}
	inside, read := map[*hostir.Tensor]bool{}, map[*hostir.Tensor]bool{}
	for _, s := range body {
		t.reads[s] = map[*hostir.Tensor]bool{}
		for k, in := range hostir.Uses(s) {
			if slices.Contains(hostir.Uses(s)[:k], in) {
				continue
			}
			t.reads[s][in] = !inside[in] && !read[in]
			read[in] = read[in] || onElements(s)
		}
		for _, out := range hostir.Defs(s) {
			inside[out] = onElements(s) && !t.writes[out] || hostir.MakesView(s) && inside[hostir.Uses(s)[0]]
		}
	}
	return t
}
