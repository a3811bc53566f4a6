package domain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
)

// Operation is one primitive operation of the model, with names in place of tensors.
type Operation struct {
	Kind    string // a model.OpKind: "matmul", "unary", ...
	Fn      string // the function of a unary, binary or reduce operation, an attention or a dropout
	Out     string
	More    []string // additional results
	In      []string
	Axis    int      // reduce, broadcast, slice, concat, gather: the logical axis
	Batches int      // gather: the number of leading axes that both operands have in common
	Perm    []int    // permute: axis i of Out is axis Perm[i] of In[0]
	Start   Extent   // slice: the first index along Axis
	Shape   []Extent // the logical shape of Out, without reduced axes
	DType   DType    // element type of Out
	Whole   string   // the operation in the spec, if a composite or with attributes: "Y = layer_norm(X, g, b)"; else empty
	Part    string   // the composite within Whole that it is a part of: "quantize"; empty: none
	Pos     diag.Pos
}

// Results lists the results of an operation.
func (o Operation) Results() []string { return append([]string{o.Out}, o.More...) }

// String prints an operation in the form of specs: "C = matmul(A, B)". It prints attributes only for an attention; the constant of
// another operation is in the name of its function: "B = scale(0.125)(A)".
func (o Operation) String() string {
	name, args := o.Kind, o.In
	if a, attends := AttentionOf(o.Fn); attends {
		args = append(slices.Clone(args), a.Attributes()...)
	} else if o.Fn != "" {
		name = o.Fn
	}
	return fmt.Sprintf("%s = %s(%s)", strings.Join(o.Results(), ", "), name, strings.Join(args, ", "))
}
