package fusion

import (
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// mayBeKernel reports whether a statement is a kernel, or an elementwise statement that can become one.
func mayBeKernel(s hostir.Stmt) bool {
	switch s.(type) {
	case *hostir.Fused:
		return true
	case *hostir.Unary, *hostir.Binary:
		return rowWise(s)
	default:
		return false
	}
}

// added returns a kernel that replaces a reader of a sum: it reads the parts of the sum, adds them up, and then
// computes what the reader did.
func added(names *hostir.Namer, parts []*hostir.Tensor, sum *hostir.Tensor, reader hostir.Stmt) *hostir.Fused {
	from := asKernel(reader)
	k := &hostir.Fused{Info: from.Info, Kernel: "sum_" + from.Kernel, Out: from.Out, In: slices.Clone(parts)}
	for _, part := range parts {
		k.Names = append(k.Names, part.Name)
	}
	at := make([]int, len(from.In)+len(from.Body)) // by number of a value in from: its number in k
	for i, t := range from.In {
		if t != sum {
			at[i] = len(k.In)
			k.In, k.Names = append(k.In, t), append(k.Names, from.Names[i])
		}
	}
	whole := from.Names[slices.Index(from.In, sum)]
	if slices.Contains(k.Names, whole) {
		whole = names.Fresh(whole + "_sum")
	}
	k.Body = addUp(names, len(parts), len(k.In), whole)
	for i := range at {
		switch {
		case i >= len(from.In):
			at[i] = len(k.In) + len(parts) - 1 + i - len(from.In)
		case from.In[i] == sum:
			at[i] = len(k.In) + len(parts) - 2
		}
	}
	for _, step := range from.Body {
		step.Args = slices.Clone(step.Args)
		for i, arg := range step.Args {
			step.Args[i] = at[arg]
		}
		k.Body = append(k.Body, step)
	}
	return k
}

// addUp returns the steps that add up the first operands of a kernel, in order; parts is their number. The last step has
// the name whole. operands is the number of all operands of the kernel.
func addUp(names *hostir.Namer, parts, operands int, whole string) (body domain.Body) {
	for i := 1; i < parts; i++ {
		step := domain.Step{Name: whole, Fn: "add", Args: []int{0, i}}
		if i < parts-1 {
			step.Name = names.Fresh(fmt.Sprintf("%s_%d", whole, i+1))
		}
		if i > 1 {
			step.Args[0] = operands + i - 2
		}
		body = append(body, step)
	}
	return body
}

// asKernel returns a kernel unchanged, and converts an elementwise statement to a kernel of one step.
func asKernel(s hostir.Stmt) *hostir.Fused {
	if k, ok := s.(*hostir.Fused); ok {
		return k
	}
	word, _ := domain.SplitFn(functionOf(s))
	k := &hostir.Fused{Info: *s.Meta(), Kernel: word, Out: []*hostir.Tensor{hostir.Result(s)}}
	step := domain.Step{Name: hostir.Result(s).Name, Fn: functionOf(s)}
	for _, t := range hostir.Uses(s) {
		at := slices.Index(k.In, t)
		if at < 0 {
			at = len(k.In)
			k.In, k.Names = append(k.In, t), append(k.Names, t.Name)
		}
		step.Args = append(step.Args, at)
	}
	k.Body = domain.Body{step}
	return k
}
