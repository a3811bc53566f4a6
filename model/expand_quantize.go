package model

import (
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// quantize computes Q = X / S in an fp8 type, and the scales S. For each group of elements, S has their largest absolute value
// divided by the largest number of the type, rounded up to a power of two if powers_of_two is true. The scale of a group of
// zeros is 1. Groups are the rows along the last axis, blocks of these rows, or all elements.
func quantize(e *expansion) {
	dtype, ok := e.shortType()
	whole, flagged := e.truth("whole")
	powers, flaggedToo := e.truth("powers_of_two")
	block, fits := e.blockOf()
	if !ok || !flagged || !flaggedToo || !fits {
		e.broken()
		return
	}
	x, columns := e.inBlocks(0, block), len(e.axesOf(0))-1
	if block > 0 {
		columns++
	}
	largest := e.step("largest", "abs", []string{x})
	for axis := columns; axis == columns || whole && axis >= 0; axis-- {
		largest = e.step("largest", "max", []string{largest}, "axis", strconv.Itoa(axis))
	}
	s, empty := e.src.more[0].value, e.step("empty", "neg", []string{e.step("any", "relu_grad", []string{largest})})
	scale := e.step("scale", "scale", []string{largest}, "by", formatFloat(1/dtype.Row().Largest))
	last := []string{scale, e.step("one", "shift", []string{empty}, "by", "1")}
	if powers {
		e.add(s, "ceil_pow2", []string{e.step("sum", "add", last)}, nil)
	} else {
		e.add(s, "add", last, nil)
	}
	divisor := s
	if !whole && columns > 0 { // the only axis keeps one element
		divisor = e.step("divisor", "broadcast", []string{s}, "axis", strconv.Itoa(columns))
	}
	e.outOfBlocks(block, "cast", []string{e.step("div", "div", []string{x, divisor})}, "dtype", string(dtype))
}

// dequantize(Q, S) = Q S, where S has the scales of the groups of quantize.
func dequantize(e *expansion) {
	q, s := domain.Shape(e.axesOf(0)), domain.Shape(e.axesOf(1))
	last, block := len(q)-1, int64(0)
	whole := len(s) == 1 && s[0] == 1
	if n := len(s) - 1; n == last && !whole && s[n] > 0 && q[last]%s[n] == 0 {
		block = q[last] / s[n]
		s = s[:n]
	}
	if !whole && !slices.Equal(s, q[:last]) {
		e.a.list.Add(e.src.args[1].pos, diag.ShapeMismatch, "%s has no scale for each row or block of %s: their shapes are %s and %s",
			e.op.In[1].Name, e.op.In[0].Name, domain.FormatShape(domain.Shape(e.axesOf(1))), domain.FormatShape(q)).
			WithHint("scales have the shape of %s without its last axis, or with the number of blocks as the last axis", e.op.In[0].Name)
		e.broken()
		return
	}
	scale := e.arg(1)
	if !whole {
		if block > 0 {
			last++
		}
		scale = e.step("factor", "broadcast", []string{scale}, "axis", strconv.Itoa(last))
	}
	product := e.step("product", "mul", []string{e.inBlocks(0, block), scale})
	e.outOfBlocks(block, "cast", []string{product}, "dtype", string(e.resultType()))
}

// shortType reads the attribute dtype, which must be an fp8 type, and checks that the operation has two results.
func (e *expansion) shortType() (dtype domain.DType, ok bool) {
	attr := e.src.attr("dtype")
	if attr == nil || len(e.src.more) == 0 {
		e.fail(diag.BadAttribute, "quantize needs an element type, and has two results").
			WithHint("write Q, S = quantize(%s, dtype=fp8_e4m3)", e.op.In[0].Name)
		return "", false
	}
	before := e.a.list.Len()
	if dtype = e.a.elementType(attr.values[0], ""); e.a.list.Len() > before {
		return "", false
	}
	if !dtype.Saturates() {
		e.a.list.Add(attr.values[0].pos, diag.BadAttribute, "quantize makes numbers of 8 bits, and %s has more", dtype).
			WithHint("write dtype=fp8_e4m3 or dtype=fp8_e5m2")
	}
	return dtype, dtype.Saturates()
}

// blockOf reads the attribute block, the number of elements of a group along the last axis. It returns 0 if there is none.
func (e *expansion) blockOf() (block int64, ok bool) {
	attr := e.src.attr("block")
	if attr == nil {
		return 0, true
	}
	size, ok := e.a.extent(attr.values[0])
	if !ok {
		return 0, false
	}
	axes := e.axesOf(0)
	columns := axes[len(axes)-1].Extent
	if flag := e.src.attr("whole"); flag != nil {
		e.a.list.Add(flag.name.pos, diag.BadAttribute, "groups are blocks, or the whole tensor").WithHint("leave out block or whole")
		return 0, false
	}
	if columns.Size%size.Size != 0 {
		e.a.list.Add(attr.values[0].pos, diag.BadAttribute, "blocks of %d do not divide the last axis of %s, %s, which they would cut", size.Size,
			e.op.In[0].Name, withValue(columns)).
			WithHint("%d or %d elements fit", max(1, columns.Size/size.Size)*size.Size, (columns.Size/size.Size+1)*size.Size)
		return 0, false
	}
	return size.Size, true
}

// inBlocks returns the name of an operand in fp32. If block is not 0, the last axis becomes two: blocks, and their elements.
func (e *expansion) inBlocks(operand int, block int64) string {
	name, dtype := e.src.args[operand].value, e.op.In[operand].DType
	if block > 0 {
		axes, out := e.axesOf(operand), e.fresh(e.src.out.value+"_blocks")
		last := len(axes) - 1
		blocks, elements := domain.Extent{Size: axes[last].Size / block}, domain.Extent{Size: block}
		e.reshape(out, name, slices.Concat(axes[:last], []domain.Axis{{Extent: blocks}, {Extent: elements}}))
		name = out
	}
	if dtype == domain.FP32 {
		return name
	}
	return e.step("fp32", "cast", []string{name}, "dtype", string(domain.FP32))
}

// outOfBlocks adds the last operation. If block is not 0, it also joins the blocks again.
func (e *expansion) outOfBlocks(block int64, fn string, args []string, attrs ...string) {
	if block == 0 {
		e.add(e.src.out.value, fn, args, attrs)
		return
	}
	e.reshape(e.src.out.value, e.step("joined", fn, args, attrs...), e.axesOf(0))
}

// reshape adds a reshape to the extents of axes.
func (e *expansion) reshape(out, in string, axes []domain.Axis) {
	e.add(out, "reshape", []string{in}, nil, e.listed("shape", lists.Map(axes, func(a domain.Axis) string { return a.Extent.String() })))
}
