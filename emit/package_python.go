package emit

import (
	"io/fs"
	"path"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/runtime_cpp"
)

// BackwardFolder is the folder of the program of the gradient, complete like any emitted folder.
const BackwardFolder = "backward"

// Backward is the program of a gradient, which goes into the folder of its forward pass.
type Backward struct {
	Program *calls.Described
	Options Options
	// Roles maps names of gradients to names of their tensors of the forward pass, as the backward spec states them: see grad.Roles.
	Roles map[string]string
}

// pythonFiles fills the view of the PyTorch package and returns the files of the package except pythonOutputs. These are
// the files that all packages share and, if backward is not nil, the program of the gradient.
func pythonFiles(view *programView, backward *Backward) ([]File, error) {
	files, err := sharedPython(view.Name)
	if err != nil {
		return nil, err
	}
	if backward == nil {
		return files, view.addPython(nil, nil)
	}
	if backward.Program.Name == view.Name {
		return nil, errorAt(diag.Pos{File: backward.Program.File}, "forward and backward pass are both named %s", view.Name)
	}
	printed, err := Render(backward.Program, backward.Options)
	if err != nil {
		return nil, err
	}
	for _, f := range printed {
		files = append(files, File{Path: path.Join(BackwardFolder, f.Path), Data: f.Data})
	}
	other, err := newProgramView(backward.Program, backward.Options)
	if err != nil {
		return nil, err
	}
	return files, view.addPython(other, backward.Roles)
}

// sharedPython returns the files of the package that do not depend on the spec.
func sharedPython(name string) ([]File, error) {
	const from = "python/runtime"
	entries, err := fs.ReadDir(runtime_cpp.FS, from)
	if err != nil {
		return nil, err
	}
	var files []File
	for _, entry := range entries {
		data, err := fs.ReadFile(runtime_cpp.FS, path.Join(from, entry.Name()))
		if err != nil {
			return nil, err
		}
		files = append(files, File{Path: path.Join("python", name, "runtime", entry.Name()), Data: data})
	}
	return files, nil
}
