package place

import "github.com/hirgen/hirgen/lowering/hostir"

// traffic says what a kernel has to read and to write. Operations on elements become few kernels (pass fuse-elementwise), so that
// most of their operands and results never reach memory.
type traffic struct {
	writes map[*hostir.Tensor]bool                 // whether something else than an operation on elements reads a tensor
	reads  map[hostir.Stmt]map[*hostir.Tensor]bool // which operands a statement reads as the first of its kernel
}

// onElements reports whether a statement can become a part of a kernel.
func onElements(s hostir.Stmt) bool {
	switch s.(type) {
	case *hostir.Unary, *hostir.Binary, *hostir.Cast, *hostir.Reduce:
		return true
	default:
		return false
	}
}

// trafficOf looks at the makers and readers of all tensors.
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
		for _, in := range hostir.Uses(s) {
			t.reads[s][in] = !inside[in] && !read[in]
			read[in] = read[in] || onElements(s)
		}
		for _, out := range hostir.Defs(s) {
			inside[out] = onElements(s) && !t.writes[out] || hostir.MakesView(s) && inside[hostir.Uses(s)[0]]
		}
	}
	return t
}
