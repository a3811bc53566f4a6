package model

import (
	"slices"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/spell"
	"github.com/hirgen/hirgen/model/domain"
)

// defaultDType is the element type of a spec that names none.
const defaultDType = domain.BF16

// assembler turns a source into a Pipeline. It continues after a mistake in a parameter, a mesh or a tensor. It then
// adds the name to broken, so that uses of the name report no more errors. Methods that read or check a part of the
// source return false if the part has an error, which they or earlier methods have reported.
type assembler struct {
	src       *source
	list      *diag.List
	p         *Pipeline
	scope     *scope
	overrides map[string]int64
	params    map[string]int64
	broken    map[string]bool // names of parameters and tensors, and "mesh NAME", that have an error
	tensors   map[string]*Tensor
	defined   map[string]*sourceOp // the operations seen so far, by the name of a result
	later     map[string]*sourceOp // all operations, by the name of a result
	// reassigned has the first use of each declared tensor that is an operand before it is a result, or no position if
	// another order of the operations would help; see isReassigned
	reassigned map[string]diag.Pos
	claimed    map[string]bool     // names of all results
	used       map[string]bool     // tensors that an operation reads
	shared     map[string][]string // names of tensors that composites share, by a description
	dtype      domain.DType
	dropouts   int // number of dropout operations seen so far
	// misnamed suppresses errors about unused tensors after an error that may be their cause: an unknown tensor, a
	// wrong output, or a spec without operations.
	misnamed bool
}

// assemble builds the pipeline. The result is valid only if list is empty afterwards.
func assemble(src *source, overrides map[string]int64, list *diag.List) *Pipeline {
	a := &assembler{
		src: src, list: list, overrides: overrides, p: &Pipeline{File: src.file, Doc: src.doc, src: *src, set: overrides}, scope: newScope(),
		params: map[string]int64{}, broken: map[string]bool{}, tensors: map[string]*Tensor{},
		defined: map[string]*sourceOp{}, later: map[string]*sourceOp{}, claimed: map[string]bool{}, used: map[string]bool{},
		shared: map[string][]string{}, reassigned: map[string]diag.Pos{},
	}
	a.name()
	a.parameters()
	a.meshes()
	if a.dtype = a.elementType(src.dtype, defaultDType); !a.dtype.Computes() {
		d := a.list.Add(src.dtype.pos, diag.UnknownDType, "%s is for single tensors, such as S: {axes: [1], dtype: %s}", a.dtype, a.dtype)
		if a.dtype.Saturates() {
			d.WithHint("leave out dtype, and quantize in GEMMs: linear(X, W, quantize=%s)", a.dtype)
		}
	}
	a.declareTensors()
	a.operations()
	a.inputsAndOutputs()
	a.schedule()
	return a.p
}

func (a *assembler) name() {
	if !a.src.name.given() {
		if !a.src.incomplete {
			a.list.Add(a.src.pos, diag.MissingField, "the pipeline has no name").WithHint("add a line such as \"name: ag_matmul\"")
		}
		return
	}
	checkName(a.list, a.src.name, "a pipeline", true)
	a.p.Name = a.src.name.value
}

// elementType returns the element type that t names. If t is missing, or names no element type, it returns its second
// argument. It reports an unknown name.
func (a *assembler) elementType(t text, otherwise domain.DType) domain.DType {
	if !t.given() {
		return otherwise
	}
	names := make([]string, len(domain.AllDTypes))
	for i, dtype := range domain.AllDTypes {
		if names[i] = string(dtype); names[i] == t.value {
			return dtype
		}
	}
	d := a.list.Add(t.pos, diag.UnknownDType, "%q is not an element type", t.value)
	for _, row := range domain.ElementTypes {
		if row.Torch == t.value || slices.Contains(row.Other, t.value) {
			d.WithHint("write %s", row.Name)
			return otherwise
		}
	}
	hintNearest(d, t.value, names)
	return otherwise
}

// maxCandidates limits the names that are compared with a misspelt one, so that many mistakes in a long spec are
// reported fast.
const maxCandidates = 1000

// nearestHint adds a hint if a candidate is close to word, and reports whether it did.
func nearestHint(d *diag.Diagnostic, word string, candidates []string) bool {
	if len(candidates) > maxCandidates {
		candidates = candidates[:maxCandidates]
	}
	nearest, ok := spell.Nearest(word, candidates)
	if ok {
		d.WithHint("did you mean %q?", nearest)
	}
	return ok
}
