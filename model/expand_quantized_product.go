package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hirgen/hirgen/internal/base/diag"
	"github.com/hirgen/hirgen/internal/base/lists"
	"github.com/hirgen/hirgen/model/domain"
)

// quantizedProduct expands a GEMM with the attribute quantize. It quantizes the rows of both operands, the second in
// the layout of linear, and expands the scaled GEMM of the quantized operands. The attribute has one type, or a list of
// the type of each operand. With the attribute block, it quantizes blocks of the rows of the first operand, and square
// blocks of the second. GEMMs that quantize the same tensor alike share the result, so that ranks gather it once.
func quantizedProduct(e *expansion) {
	attr, axes := e.src.attr("quantize"), len(e.axesOf(1))
	if axes < 2 || !e.op.In[0].DType.Computes() || !e.op.In[1].DType.Computes() {
		e.fail(diag.BadAttribute, "%s quantizes matrices in bf16, fp16 or fp32", e.src.fn.value).
			WithHint("multiply numbers of 8 bits with scaled_linear")
		e.broken()
		return
	}
	block, ok := e.squareBlocks()
	types := attr.values
	for _, value := range types {
		_, fits := e.eightBits(attr, value)
		ok = ok && fits
	}
	if len(types) == 1 {
		types = []text{types[0], types[0]}
	}
	if len(types) != 2 {
		e.a.list.Add(attr.name.pos, diag.BadAttribute, "%s quantizes two operands, and quantize has %d types", e.src.fn.value, len(types)).
			WithHint("write quantize=fp8_e4m3, or quantize=[fp8_e5m2, fp8_e4m3] for a type of each operand")
		ok = false
	}
	if !ok {
		e.broken()
		return
	}
	bias := ""
	if len(e.src.args) > 2 {
		bias = e.arg(2)
	}
	x, s := e.quantized(e.src.args[0].value, types[0], block(1))
	w, t := e.quantized(e.secondRows(), types[1], block(2))
	if e.src.attr("block") != nil {
		e.scaledBlocks([]string{x, w, s, t}, bias)
		return
	}
	e.scaled([]string{x, w, s, t}, bias)
}

// secondRows returns the second operand of a GEMM in the layout of linear: itself, or the transposed operand of a
// matmul.
func (e *expansion) secondRows() string {
	w, axes := e.src.args[1].value, len(e.axesOf(1))
	if e.src.fn.value != "matmul" {
		return w
	}
	return e.shared(w+" transposed", func() []string {
		perm, turned := lists.Numbers(axes), e.fresh(stem(w)+"_columns")
		perm[axes-2], perm[axes-1] = axes-1, axes-2
		e.permute(turned, w, perm)
		return []string{turned}
	})[0]
}

// quantized returns a tensor in 8 bits, and its scales. attrs say which elements have a common scale.
func (e *expansion) quantized(of string, dtype text, attrs []sourceAttr) (q, s string) {
	at := e.src.text
	made := e.shared(fmt.Sprintf("%s as %s in blocks of %d axes", of, dtype.value, len(attrs)), func() []string {
		q, s := e.fresh(stem(of)+"_quantized"), e.fresh(stem(of)+"_scales")
		e.a.operation(&sourceOp{out: at(q), more: []text{at(s)}, fn: at("quantize"), args: []text{at(of)}, pos: e.src.pos,
			attrs: slices.Concat([]sourceAttr{{name: at("dtype"), values: []text{dtype}}}, attrs)})
		return []string{q, s}
	})
	return made[0], made[1]
}

// stem returns the first characters of a name, to which expansions can add several suffixes.
func stem(name string) string {
	const longest = 30
	return strings.TrimRight(name[:min(len(name), longest)], "_")
}

// shared returns the names of the tensors that an earlier call with the same key made, or calls create to make them. If
// one of them has an error, the next call reports the error for its operation, too.
func (e *expansion) shared(key string, create func() []string) []string {
	if made := e.a.shared[key]; made != nil {
		return made
	}
	made := create()
	if !slices.ContainsFunc(made, func(name string) bool { return e.a.broken[name] || e.a.tensors[name] == nil }) {
		e.a.shared[key] = made
	}
	return made
}

// squareBlocks reads the attribute block of a GEMM. It returns a function that lists the attributes of quantize for
// blocks along the last one or two axes. Without the attribute, the function returns nil.
func (e *expansion) squareBlocks() (attrs func(axes int) []sourceAttr, ok bool) {
	attr := e.src.attr("block")
	if attr == nil {
		return func(int) []sourceAttr { return nil }, true
	}
	if size, known := e.a.extent(attr.values[0]); !known || attr.list || size.Size != domain.BlockRow {
		if known {
			e.a.list.Add(attr.values[0].pos, diag.BadAttribute, "GEMMs have scales for blocks of %d elements", domain.BlockRow).
				WithHint("write block=%d, or leave it out for a scale for each row", domain.BlockRow)
		}
		return nil, false
	}
	return func(axes int) []sourceAttr {
		rows := *attr
		rows.name.value = "block_rows"
		return []sourceAttr{*attr, rows}[:axes]
	}, true
}
