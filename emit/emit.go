// Package emit prints a host program as a folder that builds alone: the program,
// its C ABI, the pieces of the runtime that it needs, a CMake project, a README.
//
// The work is done in three steps. Views (view*.go) take every decision: names,
// types, extents, which event orders which streams. Templates spell the views.
// Write puts the files on disk, all or none. Nothing here looks at a clock, a host
// or an absolute path: the same program gives the same bytes anywhere.
package emit

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/hirgen/hirgen/internal/diag"
	"github.com/hirgen/hirgen/lowering/calls"
	"github.com/hirgen/hirgen/lowering/hostir"
)

// File is one file of an emitted folder.
type File struct {
	Path string // relative to the folder, with forward slashes
	Data []byte
}

// Options say what Render cannot see in the program.
type Options struct {
	// Version of hirgen, as the README and the manifest state it; "devel" if empty.
	Version string
	// Flags were given beside the spec's name ("-p", "M=4096"), but for those of Packages; they are part of the
	// command that regenerates the folder.
	Flags []string
	// Packages are printed beside the program.
	Packages Packages
	// Prove looks at the calls that are about to be printed, those of each variant; on an error nothing is
	// printed. nil: nobody does.
	Prove func(*calls.Program) error
	// Spec is the text of the spec, which the folder then carries, so that it can be proved alone.
	Spec []byte
	// Calls are printed in place of those that the program is lowered to: of the program and, where
	// it has one, of its fallback variant.
	Calls []*calls.Program
	// Backward is the program of the gradient, where Packages name its spec.
	Backward *Backward
}

// calls are those of the n-th variant that are printed in place of its own; nil: its own are.
func (o Options) calls(n int) *calls.Program {
	if n < len(o.Calls) {
		return o.Calls[n]
	}
	return nil
}

// output is one file that a template prints.
type output struct {
	template string
	path     func(name string) string
}

// programTemplate prints the program, and its fallback variant.
const programTemplate = "program.cpp"

// outputs lists the other files that vary. The rest of a folder is the runtime, copied.
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

// kernelOutputs are there where the program has kernels of its own.
var kernelOutputs = []output{
	{"kernels.cu", func(name string) string { return name + "_kernels.cu" }},
	{"kernels.hpp", func(name string) string { return name + "_kernels.hpp" }},
}

// pythonOutputs are there where a package for PyTorch is asked for.
var pythonOutputs = []output{
	{"package.py", func(name string) string { return "python/" + name + "/__init__.py" }},
	{"pyproject.toml", fixed("pyproject.toml")},
}

func fixed(path string) func(string) string {
	return func(string) string { return path }
}

// Render prints p. The error is a *diag.Errors when the program holds what cannot
// be printed: then there are no files, and never wrong ones.
func Render(p *hostir.Program, opt Options) ([]File, error) {
	if variants := p.Variants(); opt.Calls != nil && len(opt.Calls) != len(variants) {
		return nil, errorAt(diag.Pos{File: p.File}, "there are calls of %d variants, and the program has %d", len(opt.Calls), len(variants))
	}
	view, err := newProgramView(p, opt)
	if err != nil {
		return nil, err
	}
	files, err := packageFiles(p, view, opt)
	if err == nil {
		view.Runtime, err = runtimeFiles(view.Attends())
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
	files = append(files, File{Path: "host_ir.txt", Data: []byte(view.HostIR)})
	files = append(files, proofFiles(view, opt)...)
	files = append(files, view.Runtime...)
	return withManifest(files, view, opt.flags())
}

// errorAt is a program that emit cannot print, at a position of its spec.
func errorAt(pos diag.Pos, format string, args ...any) error {
	var list diag.List
	list.Add(pos, diag.NotLowerable, format, args...)
	return list.Err()
}

// endWithNewline drops blank lines at the end of text and leaves one newline.
func endWithNewline(text []byte) []byte {
	return append(bytes.TrimRight(text, "\n"), '\n')
}
