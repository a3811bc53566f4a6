package model

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// quantize computes Q = X / S in an fp8 type, and the scales S. For each group of elements, S has their largest absolute value
// divided by the largest number of the type, rounded up to a power of two if powers_of_two is true. The scale of a group of
// zeros is 1. Groups are the rows along the last axis, blocks of these rows, blocks of the last two axes, or all elements.
func quantize(e *expansion) {
	dtype, ok := e.shortType()
	whole, flagged := e.boolAttribute("whole")
	powers, flaggedToo := e.boolAttribute("powers_of_two")
	block, fits := e.blockOf()
	if !ok || !flagged || !flaggedToo || !fits {
		e.broken()
		return
	}
	x, columns := e.inBlocks(0, block), len(e.axesOf(0))-1
	if block.columns > 0 {
		columns++
	}
	if block.rows > 0 {
		columns++
	}
	largest := e.step("largest", "abs", []string{x})
	for axis := columns; axis == columns || whole && axis >= 0; axis-- {
		largest = e.step("largest", "max", []string{largest}, "axis", strconv.Itoa(axis))
	}
	if block.rows > 0 {
		largest = e.wide("largest", e.step("largest", "max", []string{largest}, "axis", strconv.Itoa(columns-2)))
		x = e.wide("fp32", x)
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
	if block.rows > 0 {
		divisor = e.step("divisor_row", "broadcast", []string{divisor}, "axis", strconv.Itoa(columns-2))
	}
	if !whole && columns > 0 { // if columns is 0, the scale has one element, which stretches
		divisor = e.step("divisor", "broadcast", []string{divisor}, "axis", strconv.Itoa(columns))
	}
	e.outOfBlocks(block, "cast", []string{e.step("div", "div", []string{x, divisor})}, "dtype", string(dtype))
}

// dequantize(Q, S) = Q S, where S has the scales of the groups of quantize.
func dequantize(e *expansion) {
	q, s := domain.Shape(e.axesOf(0)), domain.Shape(e.axesOf(1))
	last, block := len(q)-1, blockSize{}
	whole := len(s) == 1 && s[0] == 1
	rows := q[:last]
	if n := len(s) - 1; n == last && !whole && s[n] > 0 && q[last]%s[n] == 0 {
		block.columns = q[last] / s[n]
		if n > 0 && s[n-1] < q[n-1] && q[n-1]%s[n-1] == 0 {
			block.rows = q[n-1] / s[n-1]
			rows = slices.Concat(q[:n-1], s[n-1:n])
		}
		s = s[:n]
	}
	if !whole && !slices.Equal(s, rows) {
		e.a.list.Add(e.src.args[1].pos, diag.ShapeMismatch, "%s has no scale for each row or block of %s: their shapes are %s and %s",
			e.op.In[1].Name, e.op.In[0].Name, domain.FormatShape(domain.Shape(e.axesOf(1))), domain.FormatShape(q)).
			WithHint("scales have the shape of %s without its last axis, or with the number of blocks as the last axis", e.op.In[0].Name)
		e.broken()
		return
	}
	scale := e.arg(1)
	if !whole {
		if block.columns > 0 {
			last++
		}
		if block.rows > 0 {
			last++
			scale = e.step("factor_row", "broadcast", []string{scale}, "axis", strconv.Itoa(last-2))
		}
		scale = e.step("factor", "broadcast", []string{scale}, "axis", strconv.Itoa(last))
	}
	product := e.step("product", "mul", []string{e.wide("fp32", e.inBlocks(0, block)), scale})
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
	return e.eightBits(attr, attr.values[0])
}

// eightBits returns the fp8 type that a value of an attribute names, and reports any other.
func (e *expansion) eightBits(attr *sourceAttr, value text) (dtype domain.DType, ok bool) {
	before := e.a.list.Len()
	if dtype = e.a.elementType(value, ""); e.a.list.Len() > before {
		return "", false
	}
	if !dtype.Saturates() {
		e.a.list.Add(value.pos, diag.BadAttribute, "quantize makes numbers of 8 bits, and %s has more", dtype).
			WithHint("write %[1]s=fp8_e4m3 or %[1]s=fp8_e5m2", attr.name.value)
	}
	return dtype, dtype.Saturates()
}

// blockSize is the size of a group of elements with one scale: columns elements along the last axis, in each of rows
// rows. rows is 0 for a single row, and columns is 0 for a whole row.
type blockSize struct{ rows, columns int64 }

// blockOf reads the attributes block and block_rows: the numbers of elements of a group along the last axis, and along
// the axis before it.
func (e *expansion) blockOf() (block blockSize, ok bool) {
	attr, rows := e.src.attr("block"), e.src.attr("block_rows")
	last := len(e.axesOf(0)) - 1
	switch flag := e.src.attr("whole"); {
	case attr == nil && rows == nil:
		return block, true
	case flag != nil:
		e.a.list.Add(flag.name.pos, diag.BadAttribute, "groups are blocks, or the whole tensor").WithHint("leave out block or whole")
		return block, false
	case attr == nil || last < 1 && rows != nil:
		e.a.list.Add(rows.name.pos, diag.BadAttribute, "block_rows is for blocks along the last two axes").
			WithHint("write block=128, block_rows=128")
		return block, false
	}
	if block.columns, ok = e.blockAlong(attr.values[0], last); ok && rows != nil {
		block.rows, ok = e.blockAlong(rows.values[0], last-1)
	}
	return block, ok
}

// blockAlong reads the extent of a block along an axis, which it must divide.
func (e *expansion) blockAlong(value text, at int) (int64, bool) {
	size, ok := e.a.extent(value)
	if !ok {
		return 0, false
	}
	axes := e.axesOf(0)
	extent, axis := axes[at].Extent, "the last axis"
	if at < len(axes)-1 {
		axis = "axis " + strconv.Itoa(at)
	}
	if extent.Size%size.Size != 0 {
		e.a.list.Add(value.pos, diag.BadAttribute, "blocks of %d do not divide %s of %s, %s, which they would cut", size.Size, axis,
			e.op.In[0].Name, withValue(extent)).
			WithHint("%s elements fit", multiples(extent.Size, size.Size))
		return 0, false
	}
	return size.Size, true
}

// multiples lists the multiples of size next to n, which is not a multiple: the one below, if n is above size, and the one
// above.
func multiples(n, size int64) string {
	above := (n/size + 1) * size
	if n < size {
		return strconv.FormatInt(above, 10)
	}
	return fmt.Sprintf("%d or %d", above-size, above)
}

// wide returns the name of a tensor in fp32. It adds a cast if the tensor has another type.
func (e *expansion) wide(suffix, name string) string {
	if t := e.a.tensors[name]; t == nil || t.DType == domain.FP32 {
		return name
	}
	return e.step(suffix, "cast", []string{name}, "dtype", string(domain.FP32))
}

// inBlocks returns the name of an operand in fp32. With blocks, each axis that they divide becomes two: blocks, and
// their elements. A 16-bit operand with blocks along two axes is not converted: several kernels read it, and would
// otherwise read an fp32 copy that one of them stores.
func (e *expansion) inBlocks(operand int, block blockSize) string {
	name, dtype := e.src.args[operand].value, e.op.In[operand].DType
	if block.columns > 0 {
		axes, out := e.axesOf(operand), e.fresh(e.src.out.value+"_blocks")
		last := len(axes) - 1
		inBlocks := func(at int, size int64) []domain.Axis {
			return []domain.Axis{{Extent: axes[at].Over(domain.Extent{Size: size})}, {Extent: domain.Extent{Size: size}}}
		}
		lead, rows := axes[:last], []domain.Axis(nil)
		if block.rows > 0 {
			lead, rows = axes[:last-1], inBlocks(last-1, block.rows)
		}
		e.reshape(out, name, slices.Concat(lead, rows, inBlocks(last, block.columns)))
		name = out
	}
	if dtype == domain.FP32 || block.rows > 0 && dtype.Computes() {
		return name
	}
	return e.step("fp32", "cast", []string{name}, "dtype", string(domain.FP32))
}

// outOfBlocks adds the last operation. With blocks, it also joins the blocks again.
func (e *expansion) outOfBlocks(block blockSize, fn string, args []string, attrs ...string) {
	if block.columns == 0 {
		e.add(e.src.out.value, fn, args, attrs)
		return
	}
	e.reshape(e.src.out.value, e.step("joined", fn, args, attrs...), e.axesOf(0))
}

// reshape adds a reshape of in to the extents of axes.
func (e *expansion) reshape(out, in string, axes []domain.Axis) {
	e.add(out, "reshape", []string{in}, nil, e.listed("shape", lists.Map(axes, func(a domain.Axis) string { return a.Extent.String() })))
}
