package model

import (
	"strconv"

	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// Op adds an operation in the syntax of a spec: "C = matmul(A, B)".
func (b *Builder) Op(operation string) *Builder {
	if op, _ := parseOp(b.text(operation), &b.list); op != nil {
		b.src.ops = append(b.src.ops, op)
	} else {
		b.src.incomplete = true
	}
	return b
}

// Set copies in to out. If their axes or meshes differ, the copy may reshard the tensor.
func (b *Builder) Set(out, in string) *Builder { return b.op(out, "set", in) }

// Matmul multiplies x by y. Leading axes of y before its last two are batches.
func (b *Builder) Matmul(out, x, y string) *Builder { return b.op(out, "matmul", x, y) }

// Linear multiplies x with the transposed weight and adds a bias if there is one.
func (b *Builder) Linear(out, x, weight string, bias ...string) *Builder {
	return b.op(out, "linear", append([]string{x, weight}, bias...)...)
}

// Broadcast inserts an axis of one element at index axis of out.
func (b *Builder) Broadcast(out, in string, axis int) *Builder {
	return b.op(out, "broadcast", in).attr("axis", false, strconv.Itoa(axis))
}

// Permute permutes axes: axis i of out is axis perm[i] of in.
func (b *Builder) Permute(out, in string, perm ...int) *Builder {
	values := lists.Map(perm, strconv.Itoa)
	return b.op(out, "permute", in).attr("perm", true, values...)
}

// Reshape keeps the elements in row-major order. The default shape is the shape of the declared tensor out.
func (b *Builder) Reshape(out, in string, shape ...string) *Builder {
	b.op(out, "reshape", in)
	if len(shape) > 0 {
		b.attr("shape", true, shape...)
	}
	return b
}

// Slice takes size elements along an axis, beginning at start. Both numbers are expressions over parameters.
func (b *Builder) Slice(out, in string, axis int, start, size string) *Builder {
	return b.op(out, "slice", in).attr("axis", false, strconv.Itoa(axis)).attr("start", false, start).attr("size", false, size)
}

// Concat concatenates tensors along an axis.
func (b *Builder) Concat(out string, axis int, in ...string) *Builder {
	return b.op(out, "concat", in...).attr("axis", false, strconv.Itoa(axis))
}

// Positions makes a tensor with the indices 0, 1, ... along an axis of in.
func (b *Builder) Positions(out, in string, axis int) *Builder {
	return b.op(out, "positions", in).attr("axis", false, strconv.Itoa(axis))
}

// DropoutAt replaces a random share p of the elements of x by 0, and scales the others by 1 / (1 - p). Whether an
// element is dropped depends on a seed, a salt and the element's index in the whole tensor, row * width + column. The
// operands in are x, the seed, the column indices and, if there are several rows, the row indices.
func (b *Builder) DropoutAt(out string, p float64, salt, width int, in ...string) *Builder {
	b.op(out, "dropout_at", in...).attr("p", false, strconv.FormatFloat(p, 'g', -1, 32))
	return b.attr("salt", false, strconv.Itoa(salt)).attr("width", false, strconv.Itoa(width))
}

// Cast converts the elements to an element type.
func (b *Builder) Cast(out, in string, dtype domain.DType) *Builder {
	return b.op(out, "cast", in).attr("dtype", false, string(dtype))
}

// Unary applies one of UnaryFns to every element.
func (b *Builder) Unary(fn, out, in string) *Builder { return b.op(out, fn, in) }

// Scale multiplies every element by a constant.
func (b *Builder) Scale(out, in string, by float64) *Builder { return b.constant("scale", out, in, by) }

// Shift adds a constant to every element.
func (b *Builder) Shift(out, in string, by float64) *Builder { return b.constant("shift", out, in, by) }

func (b *Builder) constant(fn, out, in string, by float64) *Builder {
	return b.op(out, fn, in).attr("by", false, strconv.FormatFloat(by, 'g', -1, 64))
}

// Binary applies one of BinaryFns to the elements of two tensors.
func (b *Builder) Binary(fn, out, x, y string) *Builder { return b.op(out, fn, x, y) }

// Reduce reduces along an axis with one of ReduceFns.
func (b *Builder) Reduce(fn, out, in string, axis int) *Builder {
	return b.op(out, fn, in).attr("axis", false, strconv.Itoa(axis))
}

func (b *Builder) op(out, fn string, args ...string) *Builder {
	b.src.ops = append(b.src.ops, &sourceOp{
		out: b.text(out), fn: b.text(fn), args: b.texts(args), pos: b.pos(),
	})
	return b
}

// attr adds an attribute to the operation that was added last. If list is true, the value is a list, as in perm=[1, 0].
func (b *Builder) attr(name string, list bool, values ...string) *Builder {
	last := b.src.ops[len(b.src.ops)-1]
	last.attrs = append(last.attrs, sourceAttr{name: b.text(name), values: b.texts(values), list: list})
	return b
}
