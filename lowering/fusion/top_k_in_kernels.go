package fusion

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/lowering/hostir"
	"github.com/hirgen/hirgen/model/domain"
)

// TopKInKernels replaces the operations of a top_k by one TopK (kernels: fused). The model expresses a top_k as
// reductions and masks:
//
//	X_fp32 = Cast(X)                                   V, I = TopK(X)
//	V_max = Reduce(max, X_fp32, axis 1)
//	...
//	V = Concat(V_max_b, V_max2_b, axis 1)
//	I = Cast(Concat(V_index, V_index2, axis 1))
//
// Requires: every statement is local or one transfer.
// Establishes: a top_k whose rows are whole on each rank, without a Stream axis, is one statement.
func TopKInKernels(p *hostir.Program) error {
	if separate(p) {
		return nil
	}
	parts := map[string]*topK{} // by the operation in the spec
	var order []*topK
	of := map[string]*topK{} // name of a tensor -> the top_k that it belongs to
	for _, ref := range p.Reference {
		results, call, _ := strings.Cut(ref.Whole, " = ")
		if !strings.HasPrefix(call, "top_k(") || ref.Part != "" {
			continue
		}
		if parts[ref.Whole] == nil {
			parts[ref.Whole] = &topK{program: p, results: strings.Split(results, ", ")}
			order = append(order, parts[ref.Whole])
		}
		of[ref.Out] = parts[ref.Whole]
	}
	if len(order) == 0 {
		return nil
	}
	for _, s := range p.Body {
		if t := hostir.Result(s); t != nil && of[t.Name] != nil && !hostir.Is[*hostir.TopK](s) {
			of[t.Name].members = append(of[t.Name].members, s)
		}
	}
	names := hostir.NewNamer(p)
	for _, k := range order {
		k.replace(names)
	}
	return nil
}

// topK has the statements of a top_k, in the order of the program.
type topK struct {
	program *hostir.Program
	results []string // the names of its values and positions
	members []hostir.Stmt
}

// replace replaces the statements by a TopK, if they only select from the rows of one tensor.
func (k *topK) replace(names *hostir.Namer) {
	in := k.source()
	out := k.finals()
	if in == nil || out == nil || !selects(in, out) {
		return
	}
	first := slices.IndexFunc(k.program.Body, func(s hostir.Stmt) bool {
		return slices.Contains(k.members, s) && slices.Contains(out, hostir.Result(s))
	})
	info := hostir.InfoFrom(k.program.Body[first], "")
	made := map[*hostir.Tensor]bool{}
	for _, s := range k.members {
		made[hostir.Result(s)] = true
	}
	for i, t := range out {
		if t == nil { // no statement reads it, but the kernel writes it
			unread := *out[1-i]
			unread.Name, unread.DType, unread.Role = names.Fresh(k.results[i]), typesOf(in)[i], hostir.Temp
			out[i] = &unread
			k.program.Tensors = append(k.program.Tensors, &unread)
		}
		delete(made, out[i])
	}
	var body []hostir.Stmt
	for at, s := range k.program.Body {
		if at == first {
			body = append(body, &hostir.TopK{Info: info, Out: out, In: in})
		}
		if !slices.Contains(k.members, s) {
			body = append(body, s)
		}
	}
	k.program.Body = body
	k.program.Remove(made)
}

// source returns the only operand that is no result of the statements; nil if there are several.
func (k *topK) source() (in *hostir.Tensor) {
	made := map[*hostir.Tensor]bool{}
	for _, s := range k.members {
		for _, t := range hostir.Uses(s) {
			if !made[t] && in != nil && in != t {
				return nil
			} else if !made[t] {
				in = t
			}
		}
		made[hostir.Result(s)] = true
	}
	return in
}

// finals returns the values and the positions. Each of them is nil if it is no output and no other statement reads it.
// finals returns a nil list if another result of the statements is used as well, or if both are nil.
func (k *topK) finals() []*hostir.Tensor {
	out, read := make([]*hostir.Tensor, 2), map[*hostir.Tensor]bool{}
	for _, s := range k.program.Body {
		if slices.Contains(k.members, s) {
			continue
		}
		lists.Mark(read, hostir.Uses(s))
	}
	for _, s := range k.members {
		t := hostir.Result(s)
		if !read[t] && t.Role != hostir.Output {
			continue
		}
		i := slices.Index(k.results, t.Name)
		if i < 0 || i > 1 {
			return nil
		}
		out[i] = t
	}
	if out[0] == nil && out[1] == nil {
		return nil
	}
	return out
}

// selects reports whether each rank can select the results from its own whole rows.
func selects(in *hostir.Tensor, out []*hostir.Tensor) bool {
	rows := hostir.Live(in)
	last := len(rows) - 1
	if last < 0 || in.Axes[rows[last]].Kind != domain.Serial || hostir.StreamAxis(in) >= 0 {
		return false
	}
	for i, t := range out {
		if t == nil {
			continue
		}
		axes := hostir.Live(t)
		if t.Mesh != in.Mesh || t.Role == hostir.View || t.DType != typesOf(in)[i] || len(axes) != len(rows) ||
			t.Axes[axes[last]].Kind != domain.Serial {
			return false
		}
		for n, axis := range axes[:last] {
			if a, b := in.Axes[rows[n]], t.Axes[axis]; a.Kind != b.Kind || a.Size != b.Size || a.Mesh != b.Mesh {
				return false
			}
		}
	}
	return true
}

// typesOf lists the element types of the values and the positions.
func typesOf(in *hostir.Tensor) []domain.DType { return []domain.DType{in.DType, domain.Int32} }
