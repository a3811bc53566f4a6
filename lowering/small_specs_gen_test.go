package lowering

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// smallSpecs draws random specs of a few operations whose extents often equal each other, extents of the mesh, or 1.
// Such specs reveal passes that confuse axes with equal extents.
type smallSpecs struct {
	*rand.Rand
	mesh    map[string]int // mesh axis -> number of ranks
	tensors []string       // declarations
	ops     []string
	names   int
	streams bool // results may have a Stream axis
}

// array is a tensor of a small spec, with its name and its logical shape.
type array struct {
	name  string
	shape []int
}

// spec draws a spec with n operations. Some operations add others, such as the reshape of an operand.
func (g *smallSpecs) spec(n int) string {
	g.tensors, g.ops, g.names = nil, nil, 0
	g.mesh = []map[string]int{{"x": 2}, {"x": 2}, {"x": 3}, {"x": 4}, {"x": 1}, {"x": 2, "y": 2}, {"y": 3, "x": 2}}[g.IntN(7)]
	g.streams = g.IntN(4) == 0
	last := g.input(g.shape(1 + g.IntN(3)))
	for i := range n {
		last = g.operation(last, i+1 == n)
	}
	mesh := []string{}
	for _, name := range []string{"x", "y"} {
		if g.mesh[name] > 0 {
			mesh = append(mesh, fmt.Sprintf("%s: %d", name, g.mesh[name]))
		}
	}
	dtype := []string{"bf16", "fp32"}[g.IntN(2)]
	return fmt.Sprintf("hirgen: 1\nname: small\ndtype: %s\nmesh: {%s}\ntensors:\n  %s\nops:\n  - %s\nschedule: {%s}\n", dtype,
		strings.Join(mesh, ", "), strings.Join(g.tensors, "\n  "), strings.Join(g.ops, "\n  - "), g.schedule())
}

// schedule draws a schedule. If results may have a Stream axis, it also draws the pipeline.
func (g *smallSpecs) schedule() string {
	fields := []string{"reshard: " + []string{"before", "after"}[g.IntN(2)], fmt.Sprint("deterministic: ", g.IntN(3) == 0)}
	if g.streams {
		fields = append(fields, []string{
			"pipeline: collective", "pipeline: collective", "preset: eager", "pipeline: broadcast", "pipeline: reduce", "pipeline: p2p", alongRings,
		}[g.IntN(7)])
	}
	return strings.Join(fields, ", ")
}

func (g *smallSpecs) extent() int {
	d := g.mesh["x"]
	return []int{1, 2, d, d, d, 2 * d}[g.IntN(6)]
}

func (g *smallSpecs) shape(n int) []int {
	shape := make([]int, n)
	for i := range shape {
		shape[i] = g.extent()
	}
	return shape
}

// axes draws the kinds of the axes of a tensor with the given shape, and returns the axes in the syntax of a spec.
func (g *smallSpecs) axes(shape []int, result bool) string {
	list, split := make([]string, len(shape)), map[string]bool{}
	stream := result && g.streams && g.IntN(2) == 0
	for _, i := range g.Perm(len(shape)) {
		list[i] = strconv.Itoa(shape[i])
		name := []string{"x", "y"}[g.IntN(2)]
		switch {
		case g.mesh[name] == shape[i] && !split[name] && g.IntN(3) > 0:
			list[i], split[name] = "DID"+name, true
		case stream:
			list[i], stream = "Stream("+list[i]+")", false
		}
	}
	return "[" + strings.Join(list, ", ") + "]"
}

func (g *smallSpecs) name() string {
	g.names++
	return "T" + strconv.Itoa(g.names)
}

func (g *smallSpecs) input(shape []int) array {
	a := array{g.name(), shape}
	g.tensors = append(g.tensors, a.name+": "+g.axes(shape, false))
	return a
}

// result adds an operation and its result. Sometimes it does not declare the axes of the result, less often for the
// output.
func (g *smallSpecs) result(shape []int, output bool, format string, args ...any) array {
	a := array{g.name(), shape}
	if output && g.IntN(4) > 0 || g.IntN(2) == 0 {
		g.tensors = append(g.tensors, a.name+": "+g.axes(shape, true))
	}
	g.ops = append(g.ops, a.name+" = "+fmt.Sprintf(format, args...))
	return a
}

// operation draws an operation that reads a.
func (g *smallSpecs) operation(a array, output bool) array {
	switch n := len(a.shape); g.IntN(12) {
	case 0, 1:
		return g.product(a, output)
	case 2:
		return g.linear(a, output)
	case 3, 4:
		to := g.regrouped(a.shape)
		return g.result(to, output, "reshape(%s, shape=[%s])", a.name, joined(to))
	case 5:
		if n == 1 {
			return g.result(a.shape, output, "set(%s)", a.name)
		}
		axis := g.IntN(n)
		return g.result(slices.Delete(slices.Clone(a.shape), axis, axis+1), output, "sum(%s, axis=%d)", a.name, axis)
	case 6:
		return g.binary(a, output)
	case 7:
		if n == 4 {
			return g.result(a.shape, output, "relu(%s)", a.name)
		}
		axis := g.IntN(n + 1)
		return g.result(slices.Insert(slices.Clone(a.shape), axis, 1), output, "broadcast(%s, axis=%d)", a.name, axis)
	case 8:
		perm, to := g.Perm(n), make([]int, n)
		for i, p := range perm {
			to[i] = a.shape[p]
		}
		return g.result(to, output, "permute(%s, perm=[%s])", a.name, joined(perm))
	case 9:
		return g.result(a.shape, output, "set(%s)", a.name)
	default:
		return g.result(a.shape, output, "%s(%s)", []string{"neg", "relu"}[g.IntN(2)], a.name)
	}
}

func joined(list []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(list), " ", ", "), "[]")
}

// product draws a matmul. Mostly it multiplies a by a matrix. If a is a matrix, it may multiply another matrix by a.
// If a has three axes, it may multiply each batch of a by a separate matrix. A vector first becomes a matrix of one
// row.
func (g *smallSpecs) product(a array, output bool) array {
	n := len(a.shape)
	if n == 1 {
		a = g.result([]int{1, a.shape[0]}, false, "broadcast(%s, axis=0)", a.name)
		n = 2
	}
	columns := g.extent()
	switch {
	case n == 2 && g.IntN(3) == 0:
		x := g.input([]int{g.extent(), a.shape[0]})
		return g.result([]int{x.shape[0], a.shape[1]}, output, "matmul(%s, %s)", x.name, a.name)
	case n == 3 && g.IntN(3) == 0:
		b := g.input([]int{a.shape[0], a.shape[2], columns})
		return g.result([]int{a.shape[0], a.shape[1], columns}, output, "matmul(%s, %s)", a.name, b.name)
	}
	b := g.second([]int{a.shape[n-1], columns})
	return g.result(append(slices.Clone(a.shape[:n-1]), columns), output, "matmul(%s, %s)", a.name, b.name)
}

// second returns the second operand of a matmul or linear: an input, or the reshape of an input.
func (g *smallSpecs) second(shape []int) array {
	if g.IntN(3) > 0 {
		return g.input(shape)
	}
	in := g.input(g.regrouped(shape))
	return g.result(shape, false, "reshape(%s, shape=[%s])", in.name, joined(shape))
}

func (g *smallSpecs) linear(a array, output bool) array {
	n, columns := len(a.shape), g.extent()
	if n == 1 {
		return g.product(a, output)
	}
	w, bias := g.second([]int{columns, a.shape[n-1]}), ""
	if g.IntN(2) == 0 {
		bias = ", " + g.input([]int{columns}).name
	}
	return g.result(append(slices.Clone(a.shape[:n-1]), columns), output, "linear(%s, %s%s)", a.name, w.name, bias)
}

// binary combines a with an input that broadcasts to the shape of a. The input may have fewer leading axes, and axes of
// one element.
func (g *smallSpecs) binary(a array, output bool) array {
	shape := slices.Clone(a.shape[g.IntN(len(a.shape)):])
	for i := range shape {
		if g.IntN(4) == 0 {
			shape[i] = 1
		}
	}
	b := g.input(shape)
	return g.result(a.shape, output, "%s(%s, %s)", []string{"add", "sub", "mul", "max"}[g.IntN(4)], a.name, b.name)
}

// regrouped returns a shape with the same number of elements. It may split and merge axes, and may add an axis of one
// element.
func (g *smallSpecs) regrouped(shape []int) []int {
	factors := []int{}
	for _, n := range shape {
		if d := g.mesh["x"]; g.IntN(2) == 0 && n%d == 0 && n > d && d > 1 {
			pair := []int{d, n / d}
			g.Shuffle(2, func(i, j int) { pair[i], pair[j] = pair[j], pair[i] })
			factors = append(factors, pair...)
			continue
		}
		factors = append(factors, n)
	}
	for len(factors) > 4 || len(factors) > 1 && g.IntN(2) == 0 {
		i := g.IntN(len(factors) - 1)
		factors[i] *= factors[i+1]
		factors = slices.Delete(factors, i+1, i+2)
	}
	if len(factors) < 4 && g.IntN(3) == 0 {
		factors = slices.Insert(factors, g.IntN(len(factors)+1), 1)
	}
	return factors
}
