package model

import (
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/domain"
)

// mostTaken is the largest k of a top_k, which takes one element after the other.
const mostTaken = 256

// topK(X, k=) takes the first of the largest elements k times, each time without the elements already taken.
func topK(e *expansion) {
	k, ok := e.taken()
	if !ok {
		e.broken()
		return
	}
	x := e.arg(0)
	before := e.before(x)
	var values, indices []string
	var ones string
	if k > 1 {
		ones = e.step("ones", "eq", []string{before, before})
	}
	for i := range k {
		values = append(values, e.fold("max", "max", x))
		first := e.fold("first", "max", e.hits(x, values[i], before))
		indices = append(indices, e.step("index", "neg", []string{first}))
		if i < k-1 { // only comparisons and choices, which are exact, so that a check knows which elements are taken
			others := e.step("others", "drop", []string{ones, e.step("chosen", "eq", []string{before, first})})
			x = e.step("rest", "masked", []string{x, others})
			before = e.step("before", "masked", []string{before, others})
		}
	}
	index, last := indices[0], strconv.Itoa(e.axis)
	if k == 1 {
		e.resultOf("set", values)
	} else {
		e.resultOf("concat", e.grouped("values", values, last), "axis", last)
		index = e.step("indices", "concat", e.grouped("indices", indices, last), "axis", last)
	}
	e.add(e.src.more[0].value, "cast", []string{index}, []string{"dtype", string(domain.Int32)})
}

// grouped concatenates groups of maxConcat tensors if the list has more, so that one concat can join the results.
func (e *expansion) grouped(suffix string, list []string, axis string) []string {
	if len(list) <= maxConcat {
		return list
	}
	var groups []string
	for group := range slices.Chunk(list, maxConcat) {
		if len(group) == 1 {
			groups = append(groups, group[0])
		} else {
			groups = append(groups, e.step(suffix, "concat", group, "axis", axis))
		}
	}
	return groups
}

// taken reads the attribute k, and checks that the operation has two results.
func (e *expansion) taken() (k int64, ok bool) {
	axes, x := e.axesOf(0), e.op.In[0].Name
	if len(e.src.more) == 0 {
		e.fail(diag.BadOperands, "top_k has two results, values and indices").WithHint("write V, I = top_k(%s, k=2)", x)
		return 0, false
	}
	if k, ok = e.wholeNumber("k", 1); !ok {
		return 0, false
	}
	columns, at := axes[len(axes)-1].Extent, e.src.attr("k").values[0].pos
	switch {
	case k > columns.Size:
		e.a.list.Add(at, diag.BadAttribute, "k is %d, and the last axis of %s has %s elements", k, x, withValue(columns))
	case k > mostTaken:
		e.a.list.Add(at, diag.BadAttribute, "k is %d; top_k takes at most %d elements, one after the other", k, mostTaken).
			WithHint("there is no sort; choose more elements by a threshold, with ge")
	default:
		return k, e.op.In[0].DType.IsInteger() || e.computes(0)
	}
	return 0, false
}

// computes checks that an operand has a type in which operations compute.
func (e *expansion) computes(operand int) bool {
	t := e.op.In[operand]
	if t.DType.Computes() {
		return true
	}
	e.a.list.Add(e.src.args[operand].pos, diag.DTypeMismatch, "%s takes floating-point numbers, and %s is %s", e.src.fn.value, t.Name,
		t.DType).WithHint("convert it with cast(%s, dtype=%s)", t.Name, domain.FP32)
	return false
}
