package gopkg

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/hirgen/hirgen/emit/goprint"
	"github.com/hirgen/hirgen/model/domain"
)

// example prints a Go program that runs one rank. It fills the inputs with ones and the outputs with poison, calls the
// program, and checks that no element of the rank's outputs is poison.
func (p *printer) example() *jen.File {
	f := p.file("main")
	f.PackageComment(goprint.Comment(fmt.Sprintf("Command example runs one rank of %s on inputs of ones. To start all ranks, in the folder "+
		"above the package:\n\n"+
		"\thirgen run -n %d -- go -C go run ./example", p.Name, p.Ranks)))
	f.Func().Id("main").Params().Block(
		jen.List(jen.Id("ctx"), jen.Id("stop")).Op(":=").Qual("os/signal", "NotifyContext").Call(
			jen.Qual("context", "Background").Call(), jen.Qual("os", "Interrupt")),
		jen.Err().Op(":=").Id("run").Call(jen.Id("ctx")),
		jen.Id("stop").Call(),
		goprint.ExitOnError(),
	)
	f.Line().Func().Id("run").Params(jen.Id("ctx").Qual("context", "Context")).Params(jen.Err().Error()).BlockFunc(p.run)
	f.Line().Comment("fill gives all elements one value.")
	f.Func().Id("fill").Types(jen.Id("E").Any()).Params(jen.Id("elements").Index().Id("E"), jen.Id("value").Id("E")).Block(
		jen.For(jen.Id("i").Op(":=").Range().Id("elements")).Block(
			jen.Id("elements").Index(jen.Id("i")).Op("=").Id("value"),
		),
	)
	return f
}

// run prints the body of the example's function run.
func (p *printer) run(g *jen.Group) {
	g.List(jen.Id("p"), jen.Err()).Op(":=").Add(p.own("Open")).Call(jen.Id("ctx"), p.own("Options").Values())
	g.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Err()))
	g.Defer().Func().Params().Block(
		jen.Err().Op("=").Qual("errors", "Join").Call(jen.Err(), jen.Id("p").Dot("Close").Call()),
	).Call()
	g.Line()
	for i, t := range p.Tensors {
		variable := p.variables[i]
		g.Id(variable).Op(":=").New(p.own(p.names[i]))
		value := p.converted(t.Type, jen.Lit(1))
		if t.Output {
			value = p.poison(t.Type)
		}
		filled := g.Id("fill").Call(jen.Id(variable).Dot("Flat").Call(), value)
		if t.Output {
			filled.Comment("which Run is to replace")
		}
	}
	try(g, p.copies("Write", true))
	try(g, []jen.Code{jen.Id("p").Dot("Run").Call(jen.Id("ctx"))})
	try(g, p.copies("Read", false))
	g.Line()
	for i, t := range p.Tensors {
		if t.Output {
			p.look(g, i)
		}
	}
	g.Return(jen.Nil())
}

// try prints an if statement that makes the calls and returns their errors.
func try(g *jen.Group, calls []jen.Code) {
	all := jen.Add(calls...)
	if len(calls) > 1 {
		all = jen.Qual("errors", "Join").Custom(lines, calls...)
	}
	g.If(jen.Err().Op(":=").Add(all), jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Err()))
}

// copies returns the calls of a copy method, Write or Read, for all tensors, or with inputs false only for outputs.
func (p *printer) copies(method string, inputs bool) []jen.Code {
	var list []jen.Code
	for i, t := range p.Tensors {
		if inputs || t.Output {
			list = append(list, jen.Id("p").Dot(p.names[i]).Dot(method).Call(jen.Id("ctx"), jen.Id(p.variables[i])))
		}
	}
	return list
}

// look prints the statements that check an output for poison and print its first element. They run only on ranks that
// have a shard of the output.
func (p *printer) look(g *jen.Group, tensor int) {
	t, name := p.Tensors[tensor], p.names[tensor]
	elements := jen.Id(p.variables[tensor]).Dot("Flat").Call()
	wrong := jen.Id("element").Op("==").Add(p.poison(t.Type))
	if !t.Type.IsInteger() {
		number := jen.Id("element")
		if t.Type != domain.FP32 {
			number = jen.Id("element").Dot("Float32").Call()
		}
		wrong = jen.Qual("math", "IsNaN").Call(jen.Float64().Call(number))
	}
	checked := []jen.Code{
		jen.For(jen.List(jen.Id("i"), jen.Id("element")).Op(":=").Range().Add(elements)).Block(
			jen.If(wrong).Block(
				jen.Return(jen.Qual("fmt", "Errorf").Call(jen.Lit("element %d of "+t.Name+" is %v"), jen.Id("i"), jen.Id("element"))),
			),
		),
		jen.Qual("fmt", "Printf").Call(jen.Lit(t.Name+" begins with %v\n"), elements.Clone().Index(jen.Lit(0))),
	}
	if t.Partial {
		checked = []jen.Code{jen.If(jen.Id("p").Dot(name).Dot("Present").Call()).Block(checked...)}
	}
	for _, code := range checked {
		g.Add(code)
	}
}

// own returns a name of the printed package, qualified with the package.
func (p *printer) own(name string) *jen.Statement { return jen.Qual(p.Module, name) }

// converted converts a float32 value to an element type that Go lacks. For other types, it returns the value itself.
func (p *printer) converted(t domain.DType, value jen.Code) jen.Code {
	if t.Row().Header == "" {
		return value
	}
	return p.own("To" + t.Constant()).Call(value)
}

// poison returns the value that marks an element as not computed: NaN, or the smallest integer.
func (p *printer) poison(t domain.DType) jen.Code {
	if t.IsInteger() {
		return jen.Qual("math", "Min"+t.Constant())
	}
	return p.converted(t, jen.Float32().Call(jen.Qual("math", "NaN").Call()))
}
