// Package emit prints a lowered program as a self-contained folder: the program, its C ABI, a copy of the runtime, a
// CMake project and a README.
//
// The work has three steps. Views (view*.go) collect what the files show of a program, for example
// types, headers and tensors. Templates print the views and the calls. Write
// makes either all changes on disk or none. Render reads no clock, host name or
// absolute path: the same program and options give the same bytes on any machine.
package emit

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"unicode/utf8"

	"github.com/hirgen/hirgen/calls"
	"github.com/hirgen/hirgen/internal/base/diag"
)

// File is one file of an emitted folder.
type File struct {
	Path string // relative to the folder, with forward slashes
	Data []byte
}

// Options hold the inputs of Render that are not part of the program.
type Options struct {
	// Version of hirgen for the README and the manifest; "devel" if empty.
	Version string
	// Flags are the flags of the command line that emitted the spec ("-p", "M=4096"), except the flags of Packages. They
	// are part of the command that regenerates the folder.
	Flags []string
	// Packages are printed in addition to the program.
	Packages Packages
	// Spec is the text of the spec, which Render copies into the folder, so that hirgen can verify the folder without
	// other files. nil: the folder has no spec.
	Spec []byte
	// Backward is the program of the gradient, if Packages.Backward names its spec.
	Backward *Backward
}

// An output is one file that a template prints. path returns its path for the name of the program.
type output struct {
	template string
	path     func(name string) string
}

// programTemplate is the template of the program, and of its fallback variant.
const programTemplate = "program.cpp"

// outputs lists the other files that templates print for every program.
var outputs = []output{
	{"CMakeLists.txt", fixed("CMakeLists.txt")},
	{"CMakePresets.json", fixed("CMakePresets.json")},
	{"README.md", fixed("README.md")},
	{"abi.cpp", fixed("abi.cpp")},
	{"abi.h", func(name string) string { return name + ".h" }},
	{"cpu.cmake", fixed("cpu.cmake")},
	{"cuda.cmake", fixed("cuda.cmake")},
	{"main.cpp", fixed("main.cpp")},
	{"program.hpp", func(name string) string { return name + ".hpp" }},
	{"reference.cpp", fixed("reference.cpp")},
	{"shared_runtime.cmake", fixed("shared_runtime.cmake")},
}

// kernelOutputs lists the additional files of a program with generated kernels.
var kernelOutputs = []output{
	{"kernels.cu", func(name string) string { return name + "_kernels.cu" }},
	{"kernels.hpp", func(name string) string { return name + "_kernels.hpp" }},
}

// pythonOutputs lists the files that templates print for a PyTorch package.
var pythonOutputs = []output{
	{"package.py", func(name string) string { return "python/" + name + "/__init__.py" }},
	{"pyproject.toml", fixed("pyproject.toml")},
}

func fixed(name string) func(string) string {
	return func(string) string { return name }
}

// gitAttributes is the file .gitattributes. It keeps git from changing line ends, because the manifest has digests of
// the bytes.
const gitAttributes = "# hirgen compares these files byte by byte.\n* -text\n"

// Render prints the folder of p. If it fails, it returns no files. Errors with a position in the spec are *diag.Errors.
func Render(p *calls.Described, opt Options) ([]File, error) {
	if name := path.Base(p.File); opt.Spec != nil && (!isLocal(name) || !utf8.ValidString(name)) {
		return nil, errorAt(diag.Pos{File: p.File}, "a file of the folder cannot be called %q, as the spec is: rename the spec", name)
	}
	view, err := newProgramView(p, opt)
	if err != nil {
		return nil, err
	}
	files, err := packageFiles(view, opt)
	if err == nil {
		view.Runtime, err = runtimeFiles(view)
	}
	if err != nil {
		return nil, err
	}
	for _, variant := range view.variants() {
		printer, err := newPrinter(variant.Program)
		if err != nil {
			return nil, err
		}
		data, err := printer.file(programTemplate, variant)
		if err != nil {
			return nil, fmt.Errorf("printing %s: %w", variant.File, err)
		}
		files = append(files, File{Path: variant.File, Data: data})
	}
	printer, err := newPrinter(view.Program)
	if err != nil {
		return nil, err
	}
	all := outputs
	if len(view.Kernels()) > 0 {
		all = slices.Concat(outputs, kernelOutputs)
	}
	if view.Python != nil {
		all = slices.Concat(all, pythonOutputs)
	}
	for _, out := range all {
		data, err := printer.file(out.template, view)
		if err != nil {
			return nil, fmt.Errorf("printing %s: %w", out.path(view.Name), err)
		}
		files = append(files, File{Path: out.path(view.Name), Data: data})
	}
	files = append(files, File{".gitattributes", []byte(gitAttributes)}, File{"host_ir.txt", []byte(view.About.HostIR)})
	files = append(files, proofFiles(view, opt)...)
	files = append(files, view.Runtime...)
	return withManifest(files, view, opt.flags())
}

// errorAt returns the error for a program that emit cannot print, with a position in the spec.
func errorAt(pos diag.Pos, format string, args ...any) error {
	var list diag.List
	list.Add(pos, diag.NotLowerable, format, args...)
	return list.Err()
}

// endWithNewline drops blank lines at the end of text and leaves one newline.
func endWithNewline(text []byte) []byte {
	return append(bytes.TrimRight(text, "\n"), '\n')
}
