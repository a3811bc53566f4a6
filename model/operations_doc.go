package model

import (
	"slices"

	"github.com/hirgen/hirgen/model/domain"
)

// An opRow documents operations that belong together: how to write each, and the result. docs/spec.md and "hirgen
// ops" print these rows.
type opRow struct {
	forms []string
	doc   string
}

// primitives are documented first, in this order.
var primitives = slices.Concat([]opRow{
	{[]string{"set(A)"}, "the same values; with other kinds of axes declared for the result it is communicated"},
	{[]string{"matmul(A, B)", "matmul(A, B, dtype=fp32)"}, "`A[..., m, k] B[k, n]`: all leading axes of A are rows. With more than two " +
		"axes B has batches: `A[..., m, k] B[..., k, n]`, whose leading axes stretch as in elementwise operations. The result has the type " +
		"of the operands or fp32. Of numbers of 8 bits it has the type of the spec, or any that `dtype` or its declaration says"},
	{[]string{"linear(X, W)", "linear(X, W, bias)", "linear(X, W, dtype=fp32)"},
		"`X[..., k] W[n, k]` transposed, plus `bias[n]`; W may have batches as in a matmul, and the bias then has them too"},
	{[]string{"block_linear(X, W, S, T)", "block_linear(X, W, S, T, dtype=fp32)"},
		"the core of `scaled_linear` with scales of blocks: `linear(X, W)` of numbers of 8 bits. `S[..., m, k/128]` has a scale for each 128 " +
			"elements of a row of X, and `T[n/128, k/128]` for each 128 x 128 elements of W. The result is bf16 or fp32"},
	{[]string{"broadcast(A, axis=i)"}, "A with one more axis `b(1)` at index i"},
	{[]string{"permute(A, perm=[...])"}, "axis i of the result is axis perm[i] of A"},
	{[]string{"reshape(A, shape=[...])"}, "the same elements in row-major order; without `shape`, the shape of the declared result"},
	{[]string{"slice(A, axis=i, start=m, stop=n)", "slice(A, axis=i, start=m, size=n)"},
		"elements m to n-1 of axis i; m is 0, and n the extent, unless given; `size=n-m` in place of `stop`"},
	{[]string{"Q, K, V = split(A, axis=i, sizes=[...])"},
		"slices one after the other along axis i, by default the last one; without `sizes` all of one size"},
	{[]string{"concat(A, B, ..., axis=i)", "concat([A, B], axis=i)"},
		"the operands one after the other along axis i, by default the last one"},
	{[]string{"positions(A, axis=i)", "positions(A, size=n)"}, "the index of each element along axis i of A, 0, 1, ..., in fp32, or the " +
		"numbers 0 to n-1; the values of A do not matter"},
	{[]string{"cast(A, dtype=fp32)"}, "A in another element type; without `dtype`, the type of the declared result. A cast to integers " +
		"drops the fraction, limits a number to the range of the type, and makes NaN 0"},
}, functionRows(), []opRow{
	{[]string{"gather_at(Table, Ids, first)", "gather_at(Table, Ids, axis=i, batches=n)"},
		"the core of `gather`, without the sum: the result has the axes of blocks, of Ids and of a row. `first` has the number of the first " +
			"row of each block, in fp32; its axes are the first ones of Table. Without `first` there are no blocks"},
	{[]string{"dropout_at(A, seed, column, row, p=0.1, salt=0, width=n)"},
		"the core of `dropout`: `column` and `row`, which stretch to A, are the place of an element in a tensor with rows of `width` elements; " +
			"without `row` it is the first row"},
	{[]string{"sum(A, axis=i)", "max(A, axis=i)", "min(A, axis=i)", "prod(A, axis=i)"}, "axis i folded; negative indices count from the end"},
})

// functionRows documents the elementwise functions.
func functionRows() []opRow {
	var rows []opRow
	for _, f := range domain.Functions {
		if f.Doc != "" {
			rows = append(rows, opRow{doc: f.Doc})
		}
		last := &rows[len(rows)-1]
		last.forms = append(last.forms, f.Written())
	}
	return rows
}

var attentions = []opRow{
	{[]string{"attention(Q, K, V)", "attention(Q, K, V, scale=0.125, causal=true, window=n, split=heads)"},
		"softmax(scale Q K^T) V, with `scale` 1 / sqrt(size) by default, of `Q: [..., heads, rows, size]` and `K`, `V: [..., key heads, keys, " +
			"size]` with the same axes in front. Q may have one more axis, which counts blocks of heads (`split=heads`) or of rows (`split=rows`)"},
	{[]string{"O, L = attention(Q, K, V)"}, "O, and for each row of queries the logarithm of the sum of the exponentials of its scores, in " +
		"fp32: what the gradient needs"},
	{[]string{"dQ, dK, dV = attention_grad(dO, Q, K, V, O, L)",
		"dQ, dK, dV = attention_grad(dO, Q, K, V, O, L, scale=0.125, causal=true, window=n, split=heads)"},
		"the gradients of Q, K and V from the gradient of O"},
}

// composites are expanded into primitives.
var composites = []opRow{
	{[]string{"mean(X, axis=i)"}, "the sum along an axis divided by its extent; without axis, along the last one"},
	{[]string{"argmax(X, axis=i)"}, "the first index of the maximum along an axis, in `int32`; 2147483647 if the maximum is NaN"},
	{[]string{"V, I = top_k(X, k=2)"}, "the k largest elements along the last axis in descending order, and their indices in `int32`; " +
		"the first of equal ones comes first. k is at most 256. In a row with NaN all values are NaN, and all indices 2147483647"},
	{[]string{"cumsum(X, axis=i)", "cumsum(X, axis=i, exclusive=true)", "cumsum(X, axis=i, reverse=true)"},
		"the sums of the elements up to each one along an axis, by default the last axis, added in fp32. With `exclusive` an element " +
			"itself is left out; `reverse` adds from the end. Whole numbers are exact up to 2^24"},
	{[]string{"softmax(X, axis=i)"}, "exp(X - max X) over its sum along the axis"},
	{[]string{"softmax(X, causal=true)", "softmax(X, causal=true, split=rows)"},
		"the causal softmax of `X: [..., queries, keys]`: each query sees the keys up to its position, and the last query sees all. With " +
			"`split=rows`, X is `[..., blocks, queries, keys]` and positions continue from block to block; with `split=batches` they restart in " +
			"each block"},
	{[]string{"softmax_grad(dY, Y, axis=i)"}, "the gradient of X for Y = softmax(X), from the gradient of Y"},
	{[]string{"log_softmax(X, axis=i)"}, "X - max X - log of the sum of exp(X - max X) along the axis"},
	{[]string{"log_softmax_grad(dY, Y, axis=i)"}, "the gradient of X for Y = log_softmax(X), from the gradient of Y"},
	{[]string{"normalize(X, axis=i, eps=1e-5)"}, "(X - mean) / sqrt(variance + eps) along the axis"},
	{[]string{"normalize_grad(dY, X, axis=i, eps=1e-5)"}, "the gradient of X for Y = normalize(X), from the gradient of Y"},
	{[]string{"layer_norm(X, gamma, beta, eps=1e-5)"}, "normalize(X) gamma + beta along the last axis"},
	{[]string{"dX, dgamma, dbeta = layer_norm_grad(dY, X, gamma, eps=1e-5)"},
		"its gradients, from the gradient of the result; without dbeta, or dX alone"},
	{[]string{"rms_norm(X, gamma, eps=1e-5)", "rms_norm(X)"}, "X / sqrt(mean of X squared + eps), times gamma, along the last axis"},
	{[]string{"dX, dgamma = rms_norm_grad(dY, X, gamma, eps=1e-5)", "dX = rms_norm_grad(dY, X)"},
		"its gradients, from the gradient of the result"},
	{[]string{"rope(X, cos, sin)"}, "the two halves X1 and X2 of the last axis, rotated: X1 cos - X2 sin and X2 cos + X1 sin. The tables " +
		"stretch to a half as in `mul`"},
	{[]string{"rope(X, axis=-2, base=10000)", "rope(X, axis=-2, base=10000, split=rows)"},
		"the same with the angle position * base^(-2i/C) for pair i of C/2, and positions along `axis`. With `split=rows` the axis before " +
			"`axis` counts blocks, and positions continue from block to block; with `split=batches` they restart in each block"},
	{[]string{"rope(X, at, axis=-2, base=10000)"},
		"the same with given positions, such as the positions of packed sequences, in `int32` or another type. `at` has the axes of X up to " +
			"`axis`, or only the last of these axes"},
	{[]string{"rope_grad(dY, cos, sin)", "rope_grad(dY, axis=-2, base=10000)", "rope_grad(dY, axis=-2, base=10000, split=rows)",
		"rope_grad(dY, at, axis=-2, base=10000)"}, "the gradient of X for Y = rope(X, ...), from the gradient of Y: rotated back"},
	{[]string{"dropout(X, seed, p=0.1)", "dropout(X, seed, p=0.1, salt=0)"},
		"0 in place of a share p of the elements, by chance, and the others times 1 / (1 - p); see below"},
	{[]string{"Q, S = quantize(X, dtype=fp8_e4m3)", "Q, S = quantize(X, dtype=fp8_e4m3, block=128)",
		"Q, S = quantize(X, dtype=fp8_e4m3, block=128, block_rows=128)", "Q, S = quantize(X, dtype=fp8_e4m3, whole=true)",
		"Q, S = quantize(X, dtype=fp8_e4m3, powers_of_two=true)"},
		"X / S in a type of 8 bits, and the scales S in fp32. A scale is for each row along the last axis, each block of such a row, each " +
			"block of the last two axes, or the whole tensor. It is the largest size of an element times 1/448, for `fp8_e5m2` 1/57344, or 1 " +
			"if all are 0. `powers_of_two` rounds it up"},
	{[]string{"dequantize(Q, S)", "dequantize(Q, S, dtype=bf16)"},
		"Q times its scales S, in the declared type or the type of the spec"},
	{[]string{"scaled_linear(Q, S, W, T)", "scaled_linear(Q, S, W, T, bias, dtype=bf16)"},
		"`linear(Q, W)` of numbers of 8 bits, times the scale S of each row of Q and T of each row of W, plus the bias. One scale may also " +
			"be for the whole tensor. It scales in fp32. If the result is bf16, so may be the product before. With `S[..., m, k/128]` and " +
			"`T[n/128, k/128]`, a scale is for 128 elements of a row of Q, and 128 x 128 of W; the GEMM scales its sums"},
	{[]string{"linear(X, W, quantize=fp8_e4m3)", "linear(X, W, bias, quantize=fp8_e4m3)", "matmul(A, B, quantize=fp8_e4m3)",
		"linear(X, W, quantize=fp8_e4m3, block=128)", "matmul(A, B, quantize=fp8_e4m3, block=128)",
		"linear(X, W, quantize=[fp8_e5m2, fp8_e4m3])", "matmul(A, B, quantize=[fp8_e5m2, fp8_e4m3])"},
		"the same GEMM of quantized operands: `scaled_linear` of `quantize(X)` and `quantize(W)`, with a scale for each row of X and each " +
			"column of the result. With `block=128` it has the blocks of `scaled_linear`. A list has the type of each operand. " +
			"Its gradients are such GEMMs, too"},
	{[]string{"gather(Table, Ids)"}, "the rows of `Table: [rows, ...]` whose numbers are in Ids, in `int32` or `int64`, and zeros for a " +
		"number without a row. The axes of Ids are in place of the axis of the rows"},
	{[]string{"gather(Table, Ids, axis=i)", "gather(Table, Ids, axis=i, batches=n)"}, "the same of the elements along axis i, in place of " +
		"which the result has the axes of Ids. The first n axes of Ids are the first axes of Table, and axis n is the default of `axis`: with " +
		"`batches=1`, `[B, V, C]` and `[B, N]` give `[B, N, C]`"},
	{[]string{"gather(Table, Ids, split=rows)"}, "the same of `Table: [blocks, rows, ...]`, with numbers that continue from block to block; " +
		"see below"},
	{[]string{"scatter_add(Ids, X, rows=n)"}, "zeros `[n, ...]`, to which each row of X is added at the number that Ids has for it, " +
		"in `int32` or `int64`. X begins with the axes of Ids. A number without a row adds nothing"},
	{[]string{"scatter_add(Ids, X, rows=n, batches=m)"}, "the same for each index of the first m axes, which Ids and X share"},
	{[]string{"scatter_add(Ids, X, rows=n, blocks=m)"},
		"the same as `[m, n, ...]`, with numbers that continue from block to block, as in `gather` with `split=rows`"},
	{[]string{"clamp(X, min=0, max=6)", "clamp(X, min=0)", "clamp(X, max=6)"},
		"clamp_min with `min`, then clamp_max with `max`; one of them may be left out. The gradient is 0 for elements that change"},
	{[]string{"where(mask, A, B)"}, "A where the mask is not 0, and B elsewhere; of the type of A and B, which the mask need not have"},
}
