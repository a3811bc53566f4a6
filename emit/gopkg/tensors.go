package gopkg

import (
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/hirgen/hirgen/emit/goprint"
	"github.com/hirgen/hirgen/model/domain"
)

// tensors prints the main file of the package: its documentation, the types of tensors, and Program.
func (p *printer) tensors() *jen.File {
	f := p.file(p.pkg)
	about := fmt.Sprintf("Package %s runs one rank of %s on a GPU:\n\n\t%s\n", p.pkg, p.Name, strings.Join(p.Summary, "\n\t"))
	f.PackageComment(goprint.Comment(about + packageDoc))

	f.Comment("name is how errors call the program.")
	f.Const().Id("name").Op("=").Lit(p.Name)
	for i, t := range p.Tensors {
		f.Line().Commentf("%s is one rank's part of the %s %s.", p.names[i], role(t), t.Axes)
		f.Type().Id(p.names[i]).Add(shape(t)).Add(elementType(t.Type))
		f.Line().Commentf("Flat is the same memory as one slice, row by row.")
		f.Func().Params(jen.Id("t").Op("*").Id(p.names[i])).Id("Flat").Params().Index().Add(elementType(t.Type)).Block(
			jen.Return(jen.Qual("unsafe", "Slice").Call(jen.Op("&").Id("t").Add(first(t)), jen.Lit(int(elements(t))))),
		)
	}
	f.Line().Comment(goprint.Comment("A Program is this rank's part of " + p.Name +
		". [Open] makes one. Its methods, and those of its tensors, may be called\n" +
		"from several goroutines: they come one after another. All ranks make the same calls of Run."))
	f.Type().Id("Program").StructFunc(p.fields)
	f.Line().Comment("bind finds the tensors in the library.")
	f.Func().Params(jen.Id("p").Op("*").Id("Program")).Id("bind").Params().Error().Block(
		jen.Return(jen.Qual("errors", "Join").CustomFunc(lines, func(g *jen.Group) {
			for i, name := range p.names {
				g.Id("bind").Call(jen.Op("&").Id("p").Dot(name), jen.Id("p").Dot("library"), jen.Lit(i))
			}
		})),
	)
	return f
}

// packageDoc is the part of the documentation that all packages share. It follows the summary of the program.
const packageDoc = `
Every rank is a process of its own, which any launcher of the program starts. It opens the program, writes its part of the
inputs into the device's memory, and runs the program as often as it likes, with all other ranks:

	p, err := Open(ctx, Options{})
	...
	err = p.Run(ctx)

Types of tensors have the shape of one rank's part. A context ends waiting, and not what ranks do together: [Open] and
[Program.Run] say what goes on. When another rank is lost, calls return an [*Error] with the report, within
Options.Timeout and a few seconds, and the process lives.

By default the package is linked with what "cmake --build --preset cpu" leaves in the folder above, which needs no GPU;
"go build -tags cuda" takes the library for GPUs, and CUDA from /usr/local/cuda or where CGO_CFLAGS and CGO_LDFLAGS say, and
"-tags installed" a library that pkg-config finds.`

// lines is the layout of a call that has each argument on a separate line.
var lines = jen.Options{Open: "(", Close: ")", Separator: ",", Multi: true}

// fields prints the fields of Program: the tensors in the order of the C ABI, and the library.
func (p *printer) fields(g *jen.Group) {
	for i, t := range p.Tensors {
		comment := "// " + role(t)
		g.Id(p.names[i]).Id("Tensor").Types(jen.Id(p.names[i])).Op(comment)
	}
	g.Line().Id("library").Op("*").Id("library")
}

func role(t Tensor) string {
	if t.Output {
		return "output"
	}
	return "input"
}

// shape returns the dimensions of a tensor's array type, without the element type. A scalar is an array of one
// element.
func shape(t Tensor) jen.Code {
	axes := &jen.Statement{}
	for _, extent := range extents(t) {
		axes.Index(jen.Lit(int(extent)))
	}
	return axes
}

// first returns the index expression of the first element, such as [0][0].
func first(t Tensor) jen.Code {
	zeros := &jen.Statement{}
	for range extents(t) {
		zeros.Index(jen.Lit(0))
	}
	return zeros
}

func extents(t Tensor) []int64 {
	if len(t.Local) == 0 {
		return []int64{1}
	}
	return t.Local
}

func elements(t Tensor) int64 {
	n := int64(1)
	for _, extent := range t.Local {
		n *= extent
	}
	return n
}

// elementType returns the Go type of the elements.
func elementType(t domain.DType) jen.Code {
	if row := t.Row(); row.Header == "" {
		return jen.Id(row.Torch)
	}
	return jen.Id(t.Constant())
}

// cgo prints cgo.go, the file with the cgo directives that compile and link the package.
func (p *printer) cgo() *jen.File {
	f := p.file(p.pkg)
	library := "hirgen_" + p.Name
	built := func(device string) string {
		return "-L${SRCDIR}/../build/" + device + " -Wl,-rpath,${SRCDIR}/../build/" + device
	}
	f.CgoPreamble(strings.Join([]string{
		"#cgo !installed CFLAGS: -I${SRCDIR}/.. -I${SRCDIR}/../runtime/include",
		"#cgo !installed,!cuda CFLAGS: -I${SRCDIR}/../runtime/cpu/include",
		"#cgo !installed,!cuda LDFLAGS: " + built("cpu") + " -l" + library + " -lhirgen_cpu",
		"#cgo !installed,cuda CFLAGS: -I/usr/local/cuda/include",
		"#cgo !installed,cuda LDFLAGS: " + built("cuda") + " -l" + library + " -L/usr/local/cuda/lib64 -lcudart",
		"#cgo installed pkg-config: " + library,
	}, "\n"))
	return f
}
