package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// operation is the rule of an operation: its operands and attributes in a spec, and how its result is derived.
type operation struct {
	kind        OpKind
	fn          string
	least, most int      // limits of the number of operands
	attrs       []string // names of the attributes
	results     int      // largest number of results; 0 stands for 1
	infer       func(*inference) bool
	expand      func(*expansion) // of a composite; see Composites
}

// operations maps names of primitive operations to their rules. lookup adds the functions and reductions, of which max and
// min are both: with one operand they are reductions.
var operations = map[string]operation{
	"set":            {kind: OpSet, least: 1, most: 1, infer: inferSame},
	"matmul":         {kind: OpMatmul, least: 2, most: 2, attrs: []string{"dtype", "quantize", "block"}, infer: inferMatmul},
	"linear":         {kind: OpLinear, least: 2, most: 3, attrs: []string{"dtype", "quantize", "block"}, infer: inferLinear},
	"block_linear":   {kind: OpBlockLinear, least: 4, most: 4, attrs: []string{"dtype"}, infer: inferBlockLinear},
	"broadcast":      {kind: OpBroadcast, least: 1, most: 1, attrs: []string{"axis"}, infer: inferBroadcast},
	"permute":        {kind: OpPermute, least: 1, most: 1, attrs: []string{"perm"}, infer: inferPermute},
	"reshape":        {kind: OpReshape, least: 1, most: 1, attrs: []string{"shape"}, infer: inferReshape},
	"cast":           {kind: OpCast, least: 1, most: 1, attrs: []string{"dtype"}, infer: inferCast},
	"slice":          {kind: OpSlice, least: 1, most: 1, attrs: []string{"axis", "start", "stop", "size"}, infer: inferSlice},
	"positions":      {kind: OpPositions, least: 1, most: 1, attrs: []string{"axis", "size"}, infer: inferPositions},
	"dropout_at":     {kind: OpDropout, least: 3, most: 4, attrs: []string{"p", "salt", "width"}, infer: inferDropout},
	"gather_at":      {kind: OpGather, least: 2, most: 3, attrs: []string{"axis", "batches"}, infer: inferGather},
	"concat":         {kind: OpConcat, least: 2, most: maxConcat, attrs: []string{"axis"}, infer: inferConcat},
	"attention":      {kind: OpAttention, least: 3, most: 3, results: 2, attrs: attentionAttrs, infer: inferAttention},
	"attention_grad": {kind: OpAttentionGrad, least: 6, most: 6, results: 3, attrs: attentionAttrs, infer: inferAttentionGrad},
}

var attentionAttrs = []string{"causal", "scale", "window", "split"}

// The names of the elementwise and reduction operations, in the order of the documentation.
var (
	UnaryFns = domain.FunctionNames(func(f domain.Function) bool { return f.Unary != nil })
	// ConstantFns have an operand and a constant, the attribute by.
	ConstantFns = domain.FunctionNames(func(f domain.Function) bool { return f.Constant })
	BinaryFns   = domain.FunctionNames(func(f domain.Function) bool { return f.Binary != nil && !f.Constant })
	ReduceFns   = []string{"sum", "max", "min", "prod"}
)

// lookup finds the primitive operation with a name and a number of operands. It returns false if there is none.
func lookup(name string, operands int) (operation, bool) {
	if op, ok := operations[name]; ok {
		return op, true
	}
	f, reduces := domain.FunctionOf(name), domain.FoldOf(name).Fn != ""
	switch {
	case f.Unary != nil:
		return operation{kind: OpUnary, fn: name, least: 1, most: 1, infer: inferSame}, true
	case f.Constant:
		return operation{kind: OpUnary, fn: name, least: 1, most: 1, attrs: []string{"by"}, infer: inferConstant}, true
	case f.Binary != nil && (!reduces || operands != 1):
		return operation{kind: OpBinary, fn: name, least: 2, most: 2, infer: inferBinary}, true
	case reduces:
		return operation{kind: OpReduce, fn: name, least: 1, most: 1, attrs: []string{"axis"}, infer: inferReduce}, true
	}
	return operation{}, false
}

// operationNames lists the names of operations that a spec can use.
func operationNames() []string {
	var names []string
	for name := range operations {
		names = append(names, name)
	}
	names = slices.Concat(names, UnaryFns, ConstantFns, BinaryFns, ReduceFns, Composites)
	slices.Sort(names)
	return slices.Compact(names)
}

// operations checks the operations in order, derives their results, and records them as written.
func (a *assembler) operations() {
	if len(a.src.ops) == 0 && !a.src.incomplete {
		a.list.Add(a.src.pos, diag.MissingField, "the pipeline has no operations").
			WithHint("add a list \"ops:\" with lines such as \"- C = matmul(A, B)\"")
		a.misnamed = true
	}
	for _, so := range a.src.ops {
		for _, out := range so.results() {
			a.claimed[out.value] = true
			if _, ok := a.later[out.value]; !ok {
				a.later[out.value] = so
			}
		}
	}
	for _, so := range a.src.ops {
		before := len(a.p.Ops)
		a.operation(so)
		a.written(so, a.p.Ops[before:])
	}
}

// written records an operation as the author wrote it, in addition to its primitive operations.
func (a *assembler) written(so *sourceOp, ops []*Op) {
	w := &WrittenOp{Fn: so.fn.value, Ops: slices.Clone(ops), Pos: so.pos}
	for _, arg := range so.args {
		w.In = append(w.In, a.tensors[arg.value])
	}
	for _, out := range so.results() {
		w.Out = append(w.Out, a.tensors[out.value])
	}
	for _, attr := range so.attrs {
		values := lists.Map(attr.values, func(v text) string { return v.value })
		w.Attrs = append(w.Attrs, Attr{Name: attr.name.value, Values: values, List: attr.list})
	}
	a.p.Written = append(a.p.Written, w)
}

func (a *assembler) operation(so *sourceOp) {
	rule, ok := composite(so.fn.value)
	if !ok && a.castsMask(so) {
		rule, ok = operation{least: 2, most: 2, expand: masked}, true
	}
	if !ok {
		rule, ok = a.computesIntegers(so)
	}
	if !ok && a.leavesOneElement(so) {
		rule, ok = operation{least: 1, most: 1, attrs: []string{"axis"}, expand: toOneElement}, true
	}
	if !ok && multiplies(so.fn.value) && so.attr("quantize") != nil {
		rule, ok = operation{least: 2, most: 3, attrs: []string{"quantize", "dtype", "block"}, expand: quantizedProduct}, true
	}
	if !ok {
		rule, _ = lookup(so.fn.value, len(so.args))
	}
	if most := max(rule.results, 1); len(so.results()) > most {
		d := a.list.Add(so.more[most-1].pos, diag.BadOperands, "%s has %s, not %d", so.fn.value, atMost(most), len(so.results()))
		if most == 1 {
			d.WithHint("split, attention, top_k, quantize and gradients have several")
		}
		so.more = so.more[:most-1]
	}
	if ok {
		a.takeApart(so, rule)
		return
	}
	op := &Op{Pos: so.pos, Whole: so.whole}
	rule, found := lookup(so.fn.value, len(so.args))
	if !found {
		so.args = lists.Except(so.args, func(t text) bool { return domain.IsDecimal(t.value) })
	}
	known := a.operands(so, op)
	out, ok := a.claimResult(so)
	if !found {
		a.unknownOperation(so.fn, op.In)
	}
	if !ok {
		a.failed(so, a.tensors[so.out.value])
		return
	}
	in := &inference{a: a, src: so, rule: rule, op: op, out: out}
	if !found || !in.checkCounts() || !known || !in.computesInFloats() {
		a.failed(so, out)
		return
	}
	before := a.list.Len()
	if !rule.infer(in) || !in.finish() {
		if a.list.Len() == before+1 {
			in.explainMoved(a.list.Last(), rule)
		}
		a.failed(so, out)
		return
	}
	op.Kind, op.Fn, op.Out.Producer = in.rule.kind, in.rule.fn, op
	for i, d := range in.more[:len(so.more)] {
		in.further(so.more[i], d)
	}
	a.p.Ops = append(a.p.Ops, op)
}

// multiplies reports whether an operation of this name is a GEMM without scales.
func multiplies(name string) bool { return name == "matmul" || name == "linear" }

// atMost describes the allowed number of results.
func atMost(results int) string {
	if results == 1 {
		return "one result"
	}
	return fmt.Sprintf("at most %d results", results)
}

// failed marks the results of a broken operation, so that later errors about them are not reported.
func (a *assembler) failed(so *sourceOp, declared *Tensor) {
	if declared == nil {
		a.broken[so.out.value] = true
	}
	for _, out := range so.more {
		if a.defined[out.value] = so; a.tensors[out.value] == nil {
			a.broken[out.value] = true
		}
	}
}

func (a *assembler) unknownOperation(fn text, operands []*Tensor) {
	d := a.list.Add(fn.pos, diag.UnknownOp, "there is no operation %q", fn.value)
	switch hint := OpHint(fn.value); {
	case otherNames[fn.value] == "gather" && idsFirst(operands):
		d.WithHint("it is called gather here, and %s", tableFirst(operands))
	case hint != "":
		d.WithHint("%s", hint)
	default:
		d.WithHint("there are: %s", strings.Join(operationNames(), ", "))
	}
}

// operands appends the tensors that an operation reads to op.In. It returns false if one of them is broken, unknown or
// not yet defined.
func (a *assembler) operands(so *sourceOp, op *Op) bool {
	ok := true
	for _, arg := range so.args {
		t := a.operand(so, arg)
		ok = ok && t != nil
		op.In = append(op.In, t)
	}
	return ok
}

func (a *assembler) operand(so *sourceOp, arg text) *Tensor {
	name := arg.value
	a.used[name] = true
	if a.defined[name] == nil && a.later[name] != nil && !a.isReassigned(arg) {
		a.usedBefore(so, arg, a.later[name])
		return nil
	}
	if t, ok := a.tensors[name]; ok {
		return t
	}
	if !a.broken[name] && !a.src.incomplete {
		a.unknownTensor(arg)
	}
	return nil
}

// usedBefore reports an operand that a later operation, or the operation itself, defines.
func (a *assembler) usedBefore(so *sourceOp, arg text, later *sourceOp) {
	name := arg.value
	if later == so {
		a.list.Add(arg.pos, diag.UseBeforeDefinition, "%q is used in its own definition", name)
		return
	}
	d := a.list.Add(arg.pos, diag.UseBeforeDefinition, "%q is used before it is defined", name).AddNote(later.pos, "%q is defined here", name)
	if a.tensors[name] != nil {
		d.WithHint("list the operations in order, or give the result another name if %q is an input", name)
		return
	}
	d.WithHint("list the operations in order")
}

// isReassigned reports whether an operand, which no earlier operation defines, is a declared tensor whose definition
// depends on this tensor. No order of the operations helps then: the tensor is an input, and claimResult reports the
// operation that gives its name to a result. Of each name, isReassigned examines the first operand.
func (a *assembler) isReassigned(arg text) bool {
	if read, known := a.reassigned[arg.value]; known || a.tensors[arg.value] == nil || len(a.reassigned) == maxCandidates {
		return read != (diag.Pos{})
	}
	seen := map[string]bool{}
	names := lists.Map(a.later[arg.value].args, func(t text) string { return t.value })
	for len(names) > 0 && !seen[arg.value] {
		name := names[len(names)-1]
		names = names[:len(names)-1]
		if so := a.later[name]; !seen[name] && so != nil {
			names = append(names, lists.Map(so.args, func(t text) string { return t.value })...)
		}
		seen[name] = true
	}
	a.reassigned[arg.value] = diag.Pos{}
	if seen[arg.value] {
		a.reassigned[arg.value] = arg.pos
	}
	return seen[arg.value]
}

// unknownTensor reports a name that no tensor has. After that, unused tensors are not reported, because the author
// may have meant one of them.
func (a *assembler) unknownTensor(t text) {
	a.misnamed = true
	d := a.list.Add(t.pos, diag.UnknownTensor, "there is no tensor %q", t.value)
	if _, err := domain.ParseDecimal(t.value); err == nil {
		d.WithHint("operands are tensors; %s take a number: %s(A, by=%s)", strings.Join(ConstantFns, ", "), ConstantFns[0], t.value)
		return
	}
	hintNearest(d, t.value, a.tensorNames())
}

func (a *assembler) tensorNames() []string {
	return lists.Map(a.p.Tensors, func(t *Tensor) string { return t.Name })
}

// claimResult records that an operation defines its result. It returns the tensor if the author declared it, and nil if
// inference has to create it. It returns false if the name has an error or another definition.
func (a *assembler) claimResult(so *sourceOp) (*Tensor, bool) {
	name := so.out.value
	if first, ok := a.defined[name]; ok {
		a.list.Add(so.out.pos, diag.Redefined, "%q is defined already", name).
			AddNote(first.pos, "the first definition is here").WithHint("each result has a name of its own")
		return nil, false
	}
	a.defined[name] = so
	if read := a.reassigned[name]; read != (diag.Pos{}) {
		a.list.Add(so.out.pos, diag.Redefined, "%q is an input, and cannot also be a result", name).
			AddNote(read, "%q is read here", name).WithHint("give the result a new name")
		return nil, false
	}
	if t, ok := a.tensors[name]; ok {
		return t, true
	}
	if a.broken[name] {
		return nil, false
	}
	if !checkName(a.list, so.out, aTensor, false) || !a.scope.declare(a.list, so.out, aTensor) {
		a.broken[name] = true
		return nil, false
	}
	return nil, true
}
