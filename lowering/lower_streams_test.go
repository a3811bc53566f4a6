package lowering

import (
	"strings"
	"testing"

	"github.com/hirgen/hirgen/lowering/hostir/text"
	"github.com/hirgen/hirgen/lowering/lowertest"
)

// TestRowsOfBatchesAreStreamed checks batched GEMMs whose slices have no row axis. If a GEMM used the batches as rows,
// the results would be wrong.
func TestRowsOfBatchesAreStreamed(t *testing.T) {
	const tensors = "A: [3, D, 2], B: [3, 2, 4], C: [3, Stream(D), 4]"
	for batches, oneRow := range map[string]bool{"B: [3,": true, "B: [1,": false} {
		program := keepsResult(t, lowertest.Pipeline(t, 2, strings.Replace(tensors, "B: [3,", batches, 1), "C = matmul(A, B)"), 2)
		if printed := text.Print(program); strings.Contains(printed, "rows 1") != oneRow {
			t.Errorf("%s\n%s", batches, printed)
		}
	}
}

// TestColumnsAreNotStreamed checks the error for a Stream axis along columns.
func TestColumnsAreNotStreamed(t *testing.T) {
	for _, tensors := range []string{
		"A: [3, 6, 2], B: [3, 2, D], C: [3, 6, Stream(D)]",
		"A: [6, 2], B: [3, 2, D], C: [3, 6, Stream(D)]",
	} {
		want := "runs along the columns of B"
		if _, err := Host(lowertest.Pipeline(t, 2, tensors, "C = matmul(A, B)"), Options{Verify: true}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
	}
}

// TestBlocksAreNotStreamed checks the errors for slices that would cut blocks with one scale, or have a single row.
func TestBlocksAreNotStreamed(t *testing.T) {
	const fp8 = "A: {axes: [4, 128], dtype: fp8_e4m3}, S: {axes: [4, 1], dtype: fp32}, T: {axes: [1, 1], dtype: fp32}, "
	for want, tensors := range map[string]string{
		"C has a Stream axis": "B: {axes: [128, 128], dtype: fp8_e4m3}, C: {axes: [Stream(4), 128], dtype: fp32}",
		"C has a Stream":      "B: {axes: [128, 128], dtype: fp8_e4m3}, C: {axes: [4, Stream(128)], dtype: fp32}",
		"B has a Stream axis": "B: {axes: [Stream(128), 128], dtype: fp8_e4m3}, C: {axes: [4, 128], dtype: fp32}",
	} {
		p := lowertest.Pipeline(t, 2, fp8+tensors, "C = scaled_linear(A, S, B, T)")
		if _, err := Host(p, Options{Verify: true}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestSlicesWithOneMoreAxis checks slices that are not contiguous, and whose result has an additional axis.
func TestSlicesWithOneMoreAxis(t *testing.T) {
	keepsResult(t, lowertest.Pipeline(t, 3, "A: [2, 4, DIDx], B: [DIDx, 1], C: [2, Stream(4), 1]", "C = matmul(A, B)"), 3)
	keepsResult(t, lowertest.Pipeline(t, 2, "A: [3, 4, 2], T: [4, Stream(3), 2], C: [4, Stream(3), 1, 2]",
		"T = permute(A, perm=[1, 0, 2]), C = broadcast(T, axis=2)"), 3)
}
