package emit

import (
	"path"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/lowering/calls/fromhost"
	calltext "github.com/hirgen/hirgen/lowering/calls/text"
)

// What a folder carries so that it can be proved alone: its calls, as hirgen lower --calls prints
// them, and in a folder of its own the spec, which a later emit of another one does not remove
// from beside the sources.
const (
	CallsName  = "calls.txt"
	SpecFolder = "spec"
)

// record keeps the text of what is printed, and its digest.
func (v *programView) record() {
	var variants []*calls.Program
	for _, variant := range v.variants() {
		variants = append(variants, variant.Program)
	}
	v.Calls = calltext.PrintAll(variants)
	v.Digest = digest([]byte(v.Calls))
}

// proofFiles are the calls and, where it is known, the spec.
func proofFiles(v *programView, opt Options) []File {
	files := []File{{Path: CallsName, Data: []byte(v.Calls)}}
	if opt.Spec != nil {
		files = append(files, File{Path: specPath(v.Spec, opt), Data: opt.Spec})
	}
	return files
}

// specPath is where a spec lies, seen from the folder: inside it, where its text is known.
func specPath(name string, opt Options) string {
	if opt.Spec == nil {
		return name
	}
	return path.Join(SpecFolder, name)
}

// replaceCalls puts given calls in place of those that a program was lowered to, if there are any.
func replaceCalls(lowered *fromhost.Lowered, given *calls.Program) error {
	if given == nil {
		return nil
	}
	if len(given.Arguments) != len(lowered.Arguments) {
		return errorAt(diag.Pos{File: given.File}, "these calls have %d arguments, and the spec has %d inputs and outputs", len(given.Arguments), len(lowered.Arguments))
	}
	lowered.Program = given
	return nil
}
