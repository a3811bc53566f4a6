package model

import (
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/model/domain"
)

// inputsAndOutputs finds the tensors that the caller passes in and gets back. Outputs are the tensors that the spec
// lists or, without a list, all results that no operation reads. It also reports unused tensors and reads the fills.
func (a *assembler) inputsAndOutputs() {
	for _, t := range a.p.Tensors {
		_, produced := a.defined[t.Name]
		switch {
		case !produced && a.used[t.Name]:
			a.checkInput(t)
			a.p.Inputs = append(a.p.Inputs, t)
		case !produced && !a.guessing():
			a.list.Add(t.Pos, diag.UnusedTensor, "tensor %s is not used", t.Name).WithHint("remove it, or use it in an operation")
		case produced && !a.used[t.Name] && a.src.outputs == nil:
			a.p.Outputs = append(a.p.Outputs, t)
		}
	}
	a.listedOutputs()
	a.fills()
}

// fills stores in each input how the spec wants it filled in checks (Tensor.Fill).
func (a *assembler) fills() {
	for _, f := range a.src.fills {
		t := a.tensors[f.name.value]
		switch {
		case t == nil && !a.src.incomplete:
			a.unknownTensor(f.name)
		case t != nil && !slices.Contains(a.p.Inputs, t):
			a.list.Add(f.name.pos, diag.BadFill, "%q is not an input", f.name.value)
		case !slices.Contains(domain.Fills, f.value.value):
			a.list.Add(f.value.pos, diag.BadFill, "nothing fills an input with %q", f.value.value).
				WithHint("write %s", strings.Join(domain.Fills, ", "))
		case t != nil:
			t.Fill = f.value.value
		}
	}
}

// guessing reports whether a tensor may only seem unused, because a part of the spec is wrong.
func (a *assembler) guessing() bool { return a.src.incomplete || a.misnamed }

// checkInput reports a reduction axis of an input, because no operation has reduced it.
func (a *assembler) checkInput(t *Tensor) {
	for _, axis := range t.Axes {
		if axis.Kind == domain.Reduction {
			a.list.Add(t.Pos, diag.BadReduction, "input %s lists %s, but no operation has reduced it", t.Name, axis)
			return
		}
	}
}

func (a *assembler) listedOutputs() {
	if a.src.outputs == nil {
		return
	}
	if len(a.src.outputs) == 0 && !a.src.incomplete {
		a.list.Add(a.src.pos, diag.BadOutput, "the list of outputs is empty").WithHint("without the list, outputs are what no operation reads")
		a.misnamed = true
	}
	listed := map[string]bool{}
	for _, t := range a.src.outputs {
		switch tensor := a.tensors[t.value]; {
		case listed[t.value]:
			a.list.Add(t.pos, diag.BadOutput, "output %q is listed twice", t.value)
		case tensor != nil && a.defined[t.value] != nil:
			a.p.Outputs = append(a.p.Outputs, tensor)
		case tensor != nil:
			a.list.Add(t.pos, diag.BadOutput, "%q is not the result of an operation", t.value)
			a.misnamed = true
		case !a.broken[t.value] && a.defined[t.value] == nil && !a.src.incomplete:
			a.unknownTensor(t)
		}
		listed[t.value] = true
	}
	excused := a.excused(listed)
	for _, t := range a.p.Tensors {
		if so := a.defined[t.Name]; so != nil && !a.used[t.Name] && !listed[t.Name] && !excused[t.Name] && !a.guessing() {
			a.list.Add(so.pos, diag.UnusedTensor, "the result %s is neither used nor an output", t.Name)
		}
	}
	if a.list.Len() == 0 {
		a.p.dropUnused()
	}
}
