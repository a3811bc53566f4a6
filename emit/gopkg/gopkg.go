// Package gopkg prints the Go package of an emitted folder, which calls the folder's library through its C ABI. It
// prints the files that depend on the spec and copies the other files. Those come from _package, which compiles only
// with the headers of an emitted folder, and from package element, for the element types that the program uses.
package gopkg

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/hirgen/hirgen/emit/gopkg/element"
	"github.com/hirgen/hirgen/emit/goprint"
	"github.com/hirgen/hirgen/model/domain"
)

//go:embed _package/*.go
var constant embed.FS

// goVersion is the oldest version of Go that compiles the package.
const goVersion = "1.22"

// A Program describes a program for its Go package.
type Program struct {
	Name    string   // name of the program
	Module  string   // path of the module; see DefaultModule
	Banner  []string // comment lines at the head of each Go file
	Summary []string // the operations, one line each
	Ranks   int      // number of ranks of the program
	Tensors []Tensor // in the order of the C ABI
}

// A Tensor is an input or an output of the program.
type Tensor struct {
	Name    string // name in the spec
	Axes    string // as the spec writes them: "[M, K]"
	Type    domain.DType
	Local   []int64 // extents of one rank's shard; empty for a scalar
	Output  bool
	Partial bool // some ranks have no shard of it
}

// A File is a file of the package.
type File struct {
	Path string // in the folder of the package, with slashes
	Data []byte
}

// DefaultModule returns the module path of a program if the user gives none. It begins with "example", which Go reserves
// for modules that are not published.
func DefaultModule(program string) string { return "example/" + PackageName(program) }

// Files returns the files of the package, sorted by path.
func Files(p Program) ([]File, error) {
	printer := &printer{Program: p, pkg: PackageName(p.Name), names: tensorNames(p.Tensors)}
	printer.variables = variables(printer.names, printer.pkg)
	files := []File{{"go.mod", []byte("module " + p.Module + "\n\ngo " + goVersion + "\n")}}
	for path, print := range map[string]func() *jen.File{
		printer.pkg + ".go": printer.tensors,
		"cgo.go":            printer.cgo,
		"example/main.go":   printer.example,
	} {
		text, err := goprint.Render(print(), p.Module)
		if err != nil {
			return nil, fmt.Errorf("printing %s of the Go package: %w", path, err)
		}
		files = append(files, File{path, text})
	}
	copied, err := printer.constant()
	if err != nil {
		return nil, err
	}
	files = append(files, copied...)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

// A printer prints the files of one package.
type printer struct {
	Program
	pkg   string
	names []string // Go names of the tensors
	// variables has the names of the example's local variable for each tensor.
	variables []string
}

// file returns a new file, which has only the banner, of the package or of the example (pkg is "main").
func (p *printer) file(pkg string) *jen.File {
	f := jen.NewFilePathName(p.Module+"/"+pkg, pkg)
	for _, line := range p.Banner {
		f.HeaderComment(line)
	}
	f.ImportName(p.Module, p.pkg)
	return f
}

// constant copies the files that all packages have, and the element types that this package needs.
func (p *printer) constant() ([]File, error) {
	var files []File
	add := func(from fs.FS, path, name string) error {
		source, err := fs.ReadFile(from, path)
		_, body, _ := strings.Cut(string(source), "\n") // after the package clause
		text := "// " + strings.Join(p.Banner, "\n// ") + "\n\npackage " + p.pkg + "\n" + body
		files = append(files, File{name, []byte(text)})
		return err
	}
	entries, err := constant.ReadDir("_package")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if err := add(constant, "_package/"+e.Name(), e.Name()); err != nil {
			return nil, err
		}
	}
	for _, row := range domain.ElementTypes {
		file := string(row.Name) + ".go"
		if row.Header == "" || !slices.ContainsFunc(p.Tensors, func(t Tensor) bool { return t.Type == row.Name }) {
			continue
		}
		if err := add(element.FS, file, file); err != nil {
			return nil, err
		}
	}
	return files, nil
}
