package fusion

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// needed collects the values of a kernel on which one of its values depends, up to operands and values with one element
// per row. Values are numbered: first the operands, then the steps.
type needed struct {
	from     *hostir.Fused
	wide     []bool // by value: it has an element for each column
	seen     map[int]bool
	operands []int
	rows     []int // numbers of the steps that have one value per row
	steps    []int // numbers of the other steps, each after the steps that it reads
}

// Limits of a kernel that folds columns. It may have few operands, to save registers, and few steps, because the kernel
// from which the steps are copied often computes them, too.
const (
	mostFolded      = 4
	mostFoldedSteps = 8
)

// need adds a value and the values that it depends on. It reports whether all steps on the way are light, except those
// with one value per row.
func (n *needed) need(at int) bool {
	if n.seen[at] {
		return true
	}
	n.seen[at] = true
	if at < len(n.from.In) {
		n.operands = append(n.operands, at)
		return true
	}
	if !n.wide[at] {
		n.rows = append(n.rows, at)
		return true
	}
	step := n.from.Body[at-len(n.from.In)]
	if !step.Light() || slices.ContainsFunc(step.Args, func(arg int) bool { return !n.need(arg) }) {
		return false
	}
	n.steps = append(n.steps, at)
	return true
}

// pays reports whether it is cheap to compute the operand of r again in the kernel that reduces it. That kernel may have at
// most mostFolded operands and mostFoldedSteps steps. Its operands with several rows and columns together may have at most
// as many bytes per element as one write and one read of the operand of r, which are saved.
func (n *needed) pays(r *hostir.Reduce) bool {
	bytes := int64(0)
	for _, at := range n.operands {
		t := n.from.In[at]
		if axis := hostir.RowAxis(t); n.wide[at] && axis != hostir.Unmapped && t.Axes[axis].LocalSize() > 1 {
			bytes += t.DType.Size()
		}
	}
	return bytes <= 2*r.In.DType.Size() && len(n.operands)+len(n.rows) <= mostFolded && len(n.steps) <= mostFoldedSteps
}

// kernel builds the kernel that folds a value over rows, given the tensors with one value per row. exact names the value before
// the kernel rounds it to the type of the reduction's operand; it is empty if the kernel does not round.
func (n *needed) kernel(r *hostir.Reduce, rows map[int]*hostir.Tensor, value int, exact string) *hostir.Fused {
	k := &hostir.Fused{Info: *r.Meta(), Out: []*hostir.Tensor{r.Out}}
	at := map[int]int{} // number in n.from -> number in k
	for _, v := range n.operands {
		at[v], k.In, k.Names = len(k.In), append(k.In, n.from.In[v]), append(k.Names, n.from.Names[v])
	}
	for _, v := range n.rows {
		at[v], k.In, k.Names = len(k.In), append(k.In, rows[v]), append(k.Names, rows[v].Name)
	}
	var words []string
	for _, v := range n.steps {
		step := n.from.Body[v-len(n.from.In)]
		step.Also, step.Args = false, slices.Clone(step.Args)
		for i, arg := range step.Args {
			step.Args[i] = at[arg]
		}
		at[v] = len(k.In) + len(k.Body)
		k.Body = append(k.Body, step)
		if word, _ := domain.SplitFn(step.Fn); word != domain.Copy && !step.Casts() {
			words = append(words, word)
		}
	}
	if exact != "" {
		k.Body[len(k.Body)-1].Name = exact
		k.Body = append(k.Body, domain.Step{Name: r.In.Name, Fn: domain.CastFn(r.In.DType), Args: []int{at[value]}})
		at[value] = len(k.In) + len(k.Body) - 1
	}
	k.Body = append(k.Body, domain.Step{Name: r.Out.Name, Fn: domain.OverRows(r.Fn), Args: []int{at[value]}})
	k.Kernel = calledAfter(append(words, r.Fn))
	return k
}

// resultsOf returns the results of a kernel by the numbers of their values.
func resultsOf(k *hostir.Fused) map[int]*hostir.Tensor {
	results := map[int]*hostir.Tensor{}
	for i, step := range k.Body.Results() {
		results[len(k.In)+step] = k.Out[i]
	}
	return results
}

// restrict removes the steps and operands of a kernel that the given results do not need. The last of these results
// becomes the main result, so it has to have the axes of the given tensor. Each of its axes has to come from an
// operand or be counted (Spans). Otherwise restrict returns false and leaves the kernel unchanged.
func restrict(k *hostir.Fused, results map[int]*hostir.Tensor, axes *hostir.Tensor) bool {
	kept := make([]bool, len(k.In)+len(k.Body))
	end := 0
	for at := len(kept) - 1; at >= 0; at-- {
		if kept[at] = kept[at] || results[at] != nil; !kept[at] {
			continue
		}
		end = max(end, at)
		if at >= len(k.In) {
			for _, arg := range k.Body[at-len(k.In)].Args {
				kept[arg] = true
			}
		}
	}
	if results[end] == nil || !hostir.SameAxes(results[end], axes) {
		return false
	}
	left := hostir.Fused{Info: k.Info, Kernel: k.Kernel, Out: []*hostir.Tensor{results[end]}}
	at := make([]int, len(kept))
	for v := range kept {
		switch {
		case !kept[v]:
		case v < len(k.In):
			at[v], left.In, left.Names = len(left.In), append(left.In, k.In[v]), append(left.Names, k.Names[v])
		default:
			step := k.Body[v-len(k.In)]
			step.Also, step.Args = results[v] != nil && v != end, slices.Clone(step.Args)
			for i, arg := range step.Args {
				step.Args[i] = at[arg]
			}
			if step.Also {
				left.Out = append(left.Out, results[v])
			}
			at[v], left.Body = len(left.In)+len(left.Body), append(left.Body, step)
		}
	}
	if slices.ContainsFunc(hostir.Live(left.Out[0]), func(axis int) bool { return !left.Spans(axis) }) {
		return false
	}
	*k = left
	return true
}

// calledAfter returns the name of a kernel with the given operations: "sub_mul", or "sub_to_sum" for more than
// mostWords operations.
func calledAfter(words []string) string {
	if len(words) > mostWords {
		words = []string{words[0], "to", last(words)}
	}
	return strings.Join(words, "_")
}
