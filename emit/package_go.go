package emit

import (
	"cmp"
	"path"

	"github.com/hirgen/hirgen/emit/gopkg"
)

// goFolder is the folder of the Go package, which is a separate module.
const goFolder = "go"

// goOutputs are the C files that templates print for the Go package.
var goOutputs = []output{{"go_bridge.h", fixed(goFolder + "/bridge.h")}}

// goFiles prints the Go package and its C header.
func goFiles(view *programView) ([]File, error) {
	printer, err := newPrinter(view.Program)
	if err != nil {
		return nil, err
	}
	var files []File
	for _, out := range goOutputs {
		data, err := printer.file(out.template, view)
		if err != nil {
			return nil, err
		}
		files = append(files, File{Path: out.path(view.Name), Data: data})
	}
	printed, err := gopkg.Files(goProgram(view))
	for _, f := range printed {
		files = append(files, File{Path: path.Join(goFolder, f.Path), Data: f.Data})
	}
	return files, err
}

// goProgram describes the program for its Go package.
func goProgram(view *programView) gopkg.Program {
	described := gopkg.Program{
		Name: view.Name, Module: view.Go.Module, Ranks: view.Ranks, Banner: view.BannerLines,
	}
	for _, line := range view.Operations {
		described.Summary = append(described.Summary, commentWord(line))
	}
	for i, t := range view.Tensors {
		described.Tensors = append(described.Tensors, gopkg.Tensor{
			Name: t.Name, Axes: commentWord(t.Shape), Type: view.Arguments[i].Type, Local: t.LocalShape(), Output: t.Output,
			Partial: t.Present != "",
		})
	}
	return described
}

// A goView describes the Go package for the folder's README.
type goView struct{ Module, Package string }

// newGoView returns nil if there is no Go package.
func newGoView(opt Packages, program string) *goView {
	if !opt.Go {
		return nil
	}
	return &goView{Module: cmp.Or(opt.GoModule, gopkg.DefaultModule(program)), Package: gopkg.PackageName(program)}
}
