package emit

import (
	"path"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/lowering/calls/fromhost"
	calltext "github.com/hirgen/hirgen/lowering/calls/text"
)

// The files with which hirgen proves a folder alone: its calls, as hirgen lower --calls prints them, and the spec.
// The spec is in a separate folder, so that it does not collide with the sources.
const (
	CallsName  = "calls.txt"
	SpecFolder = "spec"
)

// record keeps the text of the printed calls, and its digest.
func (v *programView) record() {
	var variants []*calls.Program
	for _, variant := range v.variants() {
		variants = append(variants, variant.Program)
	}
	v.Calls = calltext.PrintAll(variants)
	v.Digest = digest([]byte(v.Calls))
}

// proofFiles returns the calls and, if its text is known, the spec.
func proofFiles(v *programView, opt Options) []File {
	files := []File{{Path: CallsName, Data: []byte(v.Calls)}}
	if opt.Spec != nil {
		files = append(files, File{Path: specPath(v.Spec, opt), Data: opt.Spec})
	}
	return files
}

// specPath returns the path of a spec, relative to the folder. If the text of the spec is known, the path is inside
// the folder.
func specPath(name string, opt Options) string {
	if opt.Spec == nil {
		return name
	}
	return path.Join(SpecFolder, name)
}

// replaceCalls replaces the calls of a lowered program by given calls, if there are any.
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
