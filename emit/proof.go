package emit

import (
	"path"
)

// CallsName and SpecFolder name what hirgen needs to verify a folder without other files: its calls, as hirgen lower
// --calls prints them, and the folder of the spec. The spec has a separate folder, so that its name does not collide
// with the sources.
const (
	CallsName  = "calls.txt"
	SpecFolder = "spec"
)

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
